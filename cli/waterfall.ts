// Writes the life of a payment as lines of text: its requests with what happens next, then all that
// happened to it, in the order of the console.
import { linesOf, type Line } from '../console/life.js'
import type { components } from '../client/operators-schema.ts'
import type { OperationWithTimeline, PaymentWithLife, PhaseRun } from './command.ts'
import { between, formatAmount, formatTime } from './format.ts'
import { whatNext } from './next.ts'

type Life = PaymentWithLife['life']
type Schemas = components['schemas']

/** Returns the lines about a payment, without the claims of operators about its operations. */
export function waterfall(payment: PaymentWithLife): string[] {
  const { life, currency, provider } = payment
  const amount = (minor: number) => formatAmount(minor, currency)
  const [captured, refunded] = [payment.amount_captured, payment.amount_refunded]
  return [
    `${payment.id}  ${payment.status}  ${amount(payment.amount)}`,
    `  captured ${amount(captured)}, refunded ${amount(refunded)}`,
    `  ${payment.tenant}  ${provider.name} ${provider.payment_id ?? 'has no id of it yet'}`,
    ...life.operations.flatMap((operation) => ['', ...requestLines(operation)]),
    '',
    ...historyLines(linesOf(life)),
    ...life.deliveries.flatMap(deliveryLines),
    ...[...life.refunds, ...life.disputes].map(
      ({ id, status, amount: minor, reason }) =>
        `  ${id}  ${status}  ${amount(minor)}  ${reason ?? ''}`,
    ),
    ...(life.has_more
      ? [`  Only the beginning is shown: there are more ${life.incomplete.join(', ')}.`]
      : []),
  ]
}

function requestLines(operation: Life['operations'][number]): string[] {
  const { idempotency_key: key, last_error: error } = operation
  return [
    `${operation.id}  ${operation.operation}  ${operation.status}`,
    `  idempotency key ${key ?? 'none'}${replaysOf(operation.request_replays)}`,
    `  recovery point ${operation.recovery_point}, attempts ${operation.attempts}, lease epoch ${operation.lease_epoch}`,
    ...(error === null ? [] : [`  last error: ${error}`]),
    `  What happens next: ${whatNext(operation)}`,
  ]
}

function replaysOf(replays: Life['operations'][number]['request_replays']): string {
  const { count, conflicts, mismatches, last_at: last } = replays
  if (last === null) return '; no replay counted'
  const refused = `refused in progress ${conflicts}, for another request ${mismatches}`
  return `; used again: replayed ${count}, ${refused}, last at ${formatTime(last)}`
}

function historyLines(lines: readonly Line[]): string[] {
  const begin = new Date(lines[0]?.from ?? 0).toISOString()
  return lines.flatMap(({ kind, what, from, to, of }) => {
    const [at, end] = [new Date(from).toISOString(), new Date(to).toISOString()]
    const took = from < to ? `, took ${between(at, end)}` : ''
    return [
      `  ${at}  +${between(begin, at)}  ${kind}: ${what}${took}`,
      ...detailsOf(kind, of).map((line) => `    ${line}`),
    ]
  })
}

function detailsOf(kind: Line['kind'], of: unknown): string[] {
  if (kind === 'work') return runLines(of as PhaseRun)
  if (kind === 'ledger') return [entriesOf(of as Schemas['LedgerTransaction'])]
  if (kind === 'event') return [(of as { id: string }).id]
  if (kind !== 'webhook') return []
  const { delivery, attempt } = of as {
    delivery: Schemas['WebhookDelivery']
    attempt: Schemas['WebhookDelivery']['attempts'][number]
  }
  return [`attempt ${attempt.number} of ${delivery.id} to ${delivery.endpoint}`]
}

function entriesOf({ entries }: Schemas['LedgerTransaction']): string {
  return entries
    .map(({ account, amount, currency }) => `${account} ${formatAmount(amount, currency)}`)
    .join(', ')
}

function runLines({ attempt, lease_epoch: epoch, recovery_point: reached, provider }: PhaseRun) {
  const end = reached === null ? 'no recovery point: no outcome was recorded' : reached
  return [
    `attempt ${attempt}, lease epoch ${epoch}`,
    ...(provider === null ? [] : callLines(provider)),
    reached === null ? end : `recovery point ${end}`,
  ]
}

function callLines(provider: NonNullable<PhaseRun['provider']>): string[] {
  const { kind, amount, currency, outcome, asked, answered } = provider
  const sum = amount === null || currency === null ? '' : ` of ${formatAmount(amount, currency)}`
  return [
    `provider ${kind ?? 'call'}${sum}: ${outcome}`,
    ...membersOf('asked', asked),
    ...membersOf('answered', answered),
  ]
}

function membersOf(name: string, value: Readonly<Record<string, unknown>> | null): string[] {
  if (value === null) return []
  const members = Object.entries(value).map(([key, member]) => `${key}: ${JSON.stringify(member)}`)
  return [`${name} ${members.join(', ')}`]
}

/** What has not been received. */
function deliveryLines(delivery: Schemas['WebhookDelivery']): string[] {
  const { id, status, event_type: type, endpoint, next_attempt_at: next } = delivery
  if (status === 'succeeded') return []
  const end = next === null ? '' : `, next attempt at ${formatTime(next)}`
  return [`  ${id}  ${type} to ${endpoint}: ${status}${end}`]
}

export function claimLines(claim: NonNullable<OperationWithTimeline['resolution']>): string[] {
  const by = claim.proposed_by === null ? '' : `${claim.proposed_by} and `
  const shown = claim.shown === null ? '' : ` (${claim.shown})`
  return [
    `  claim ${claim.claim} of ${by}${claim.claimed_by} at ${formatTime(claim.claimed_at)}: ${JSON.stringify(claim.claimed)}`,
    claim.verdict === null
      ? '  verdict: none yet; a worker has to look at the provider'
      : `  verdict: ${claim.verdict}${actedOn(claim)}${shown}`,
    ...(claim.effect === null ? [] : [`  ${claim.effect}`]),
  ]
}

/** A verified claim is always acted on. */
function actedOn({ verdict, taken }: NonNullable<OperationWithTimeline['resolution']>): string {
  if (taken === false) return ', not acted on'
  return verdict === 'verified' ? '' : ', acted on all the same'
}

export function proposalLines(proposal: NonNullable<OperationWithTimeline['proposal']>): string[] {
  const { proposed_by: by, proposed_at: at, expires_at: end, proposed } = proposal
  return [
    `  ${by} proposed at ${formatTime(at)}: ${JSON.stringify(proposed)}`,
    `  Another operator can confirm it until ${formatTime(end)}.`,
    ...consequenceLines(proposal.consequences),
  ]
}

/** What follows from a claim, for each answer of the lookup. */
export function consequenceLines(consequences: Schemas['ClaimConsequences']): string[] {
  const { refused, warning, found, absent, unclear, unanswered } = consequences
  if (refused !== null) return [`  ${refused}`]
  return [
    `  If the lookup finds it: ${found}`,
    `  If it finds nothing: ${absent}`,
    `  If it shows neither: ${unclear}`,
    `  If it is not answered: ${unanswered}`,
    ...(warning === null ? [] : [`  ${warning}`]),
  ]
}
