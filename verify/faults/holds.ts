// The scenarios of holds that end, or that the provider completes late, and of reconciliations that
// compare.
import { setTimeout as wait } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { requeueProviderEventUnlessApplied } from '../../src/recovery/dead-letters.ts'
import { PROVIDER_EVENTS_QUEUE, RECONCILIATIONS_QUEUE } from '../../src/db/queue/jobs.ts'
import { AUTHORIZATION_EXPIRING } from '../../src/domain/events/event-types.ts'
import { EXPIRY } from '../../src/domain/events/provider-event.ts'
import { requestReconciliation } from '../../src/reconciliation/runs.ts'
import { findPayment, forgetReminders, readIntentStatus, until } from './event-scenarios.ts'
import type { Merchant } from './merchant.ts'
import { AUTOMATIC, CREATION, MANUAL, paid, type Scenario, SECURE } from './scenario.ts'
import { RECOVERY_LIMIT_MS, type Violation } from './results.ts'
import { poll, retryWhileDown } from './poll.ts'
import { wake } from './lane-jobs.ts'
import { SHORT_LIMITS } from './lane-parts.ts'
import { withRelay } from './event-relay.ts'
import type { Lane } from './lane.ts'

export const expire: Scenario = {
  name: 'payment.cancel.expired',
  variant: 'other calls',
  prepare: paid(SECURE),
  act: async (merchant) => {
    await remindLate(merchant)
    await untilCanceled(merchant)
  },
  check: checkCanceled,
}

/**
 * Lets the reminder find the payment expired. It uses the queue of the provider's events, which a
 * worker does not poll for but is notified of.
 */
async function remindLate(merchant: Merchant): Promise<void> {
  const { lane, tenant } = merchant
  const { sql } = lane.owner
  await forgetReminders(merchant)
  await retryWhileDown(
    () => sql`
      update provider_events set received_at = received_at - interval '30 days'
      where tenant_id = ${tenant.id} and type = 'reminder'
    `,
  )
  await remindNow(merchant, 'reminder')
}

/** Applies an internal event of the payment now. */
async function remindNow({ lane, tenant }: Merchant, type: string): Promise<void> {
  const { sql } = lane.owner
  await retryWhileDown(() =>
    inTransaction(sql, async (tx) => {
      const [reminder] = await tx<{ provider: string; id: string }[]>`
        select provider, id from provider_events where tenant_id = ${tenant.id} and type = ${type}
      `
      if (reminder === undefined) throw new Error(`the payment has no ${type}`)
      await requeueProviderEventUnlessApplied(tx, reminder, PROVIDER_EVENTS_QUEUE)
    }),
  )
  wake(sql, PROVIDER_EVENTS_QUEUE)
}

async function untilCanceled(merchant: Merchant): Promise<void> {
  const isCanceled = async () => (await findPayment(merchant)).status === 'canceled'
  await until(merchant, isCanceled, 'the expired payment was not canceled')
}

function checkCanceled(merchant: Merchant): Promise<Violation[]> {
  return checkBoth(merchant, 'canceled')
}

/** The payment and its intent have the same status. */
async function checkBoth(merchant: Merchant, expected: string): Promise<Violation[]> {
  const { status, intentId } = await findPayment(merchant)
  const theirs = await readIntentStatus(merchant, intentId)
  if (status === expected && theirs === expected) return []
  return [{ invariant: 5, what: `the provider's intent is ${theirs}, the payment is ${status}` }]
}

export const expireHold: Scenario = {
  name: 'payment.follow.expired',
  variant: 'other calls',
  prepare: paid(MANUAL),
  act: letHoldExpire,
  check: checkExpired,
}

/** The workers announce and look by themselves, as often as they sweep. */
async function letHoldExpire(merchant: Merchant): Promise<void> {
  const { lane, tenant } = merchant
  const { sql } = lane.owner
  const endHold = (seconds: number) =>
    retryWhileDown(
      () => sql`
        update payments set capture_before = now() + ${seconds} * interval '1 second'
        where tenant_id = ${tenant.id}
      `,
    )
  await endHold(3_600)
  if (!(await untilCounted(merchant, 'an announcement', () => countAnnounced(merchant)))) return
  // A worker that announces again does so now.
  await wait(2 * Number(SHORT_LIMITS.SWEEP_INTERVAL_MS), undefined, { signal: merchant.signal })
  const { intentId } = await findPayment(merchant)
  await lane.provider.control('POST', `payment_intents/${intentId}/expire`, {})
  await endHold(-3_600)
  if (!(await untilCounted(merchant, 'a look', () => countLooks(merchant)))) return
  await forgetReminders(merchant)
  await remindNow(merchant, EXPIRY)
  await untilCanceled(merchant)
}

/** Returns whether it came. If it never does, that is a violation. */
async function untilCounted(
  merchant: Merchant,
  awaited: string,
  count: () => Promise<number>,
): Promise<boolean> {
  const { signal } = merchant
  if (await poll(RECOVERY_LIMIT_MS, async () => (await count()) > 0, { signal })) return true
  merchant.violations.push({ invariant: 7, what: `the hold that ends never led to ${awaited}` })
  return false
}

const countAnnounced = (merchant: Merchant) => countRows(merchant, 'events', AUTHORIZATION_EXPIRING)

const countLooks = (merchant: Merchant) => countRows(merchant, 'provider_events', EXPIRY)

async function countRows({ lane: { owner }, tenant }: Merchant, table: string, type: string) {
  const { sql } = owner
  const { count } = await retryWhileDown(
    () => sql`select from ${sql(table)} where tenant_id = ${tenant.id} and type = ${type}`,
  )
  return count
}

async function checkExpired(merchant: Merchant): Promise<Violation[]> {
  const announced = await countAnnounced(merchant)
  const twice = { invariant: 1, what: `the end of the hold was announced ${announced} times` }
  return [...(await checkCanceled(merchant)), ...(announced === 1 ? [] : [twice])]
}

const HOUR_MS = 60 * 60 * 1_000

/** The times of the provider's records are in whole seconds. */
const SECOND_MS = 1_000

/**
 * The start of a window without the fees of the bystander, because nothing of its data may change.
 */
async function windowStart({ signal }: Merchant): Promise<Date> {
  await wait(SECOND_MS, undefined, { signal })
  return new Date(Math.floor(Date.now() / SECOND_MS) * SECOND_MS)
}

const hoursFrom = (hours: number) => new Date(Date.now() + hours * HOUR_MS)

/** Has the worker carry out the runs at once. */
async function compare(
  { lane, signal, violations }: Merchant,
  windows: readonly { readonly from: Date; readonly to: Date }[],
): Promise<void> {
  const { sql } = lane.owner
  const request = { provider: 'stripe', requestedBy: 'fault suite' }
  const runs = await Promise.all(
    windows.map((window) =>
      inTransaction(sql, (tx) => requestReconciliation(tx, { ...request, ...window })),
    ),
  )
  const ids = runs.map((run) => run.id)
  const haveEnded = async () => {
    wake(sql, RECONCILIATIONS_QUEUE)
    const open = await sql`
      select from reconciliation_runs where id = any(${ids}) and status <> 'completed'
    `
    return open.length === 0
  }
  if (await poll(RECOVERY_LIMIT_MS, haveEnded, { signal })) return
  violations.push({ invariant: 7, what: 'a reconciliation did not end' })
}

/** Its points are covered like those of every other operation. */
export const releaseHold: Scenario = {
  name: 'hold.release',
  prepare: paid(AUTOMATIC),
  act: holdAgain,
  check: checkPaid,
}

/** The events are lost, and the provider completes the authorization after the payment ended. */
const releaseLateHold: Scenario = {
  name: 'hold.release.late',
  act: payWithLateHold,
  check: checkPaid,
}

const HELD = 'payment_intent.amount_capturable_updated'

/** The provider holds the money again, as for a call under an earlier key. */
async function holdAgain(merchant: Merchant): Promise<void> {
  await withRelay(merchant, [HELD], async (relay) => {
    const late = await authorizeAgain(merchant)
    await relay.untilAccepted(HELD)
    await untilReleased(merchant, late)
  })
}

async function authorizeAgain(merchant: Merchant): Promise<string> {
  const { lane } = merchant
  const { intentId } = await findPayment(merchant)
  const { amount, currency, metadata } = (await lane.provider.control(
    'GET',
    `objects/${intentId}`,
  )) as { amount: number; currency: string; metadata: Record<string, string> }
  const parameters = new URLSearchParams({
    amount: String(amount),
    currency,
    confirm: 'true',
    return_url: 'https://example.com/',
    capture_method: 'manual',
    payment_method: AUTOMATIC.payment_method,
    'allowed_payment_method_types[]': 'card',
  })
  for (const [name, value] of Object.entries(metadata)) {
    parameters.set(`metadata[${name}]`, value)
  }
  return await send(merchant, parameters)
}

/** Longer than a usual answer. A kind of provider may leave the first request without one. */
const ANSWER_LIMIT_MS = 1_000
const TRIES = 20

/** Repeats the request under one provider key until it has an answer, and returns the id in it. */
async function send({ lane, signal }: Merchant, body: URLSearchParams): Promise<string> {
  const headers = { authorization: `Bearer ${lane.secrets[0]}`, 'idempotency-key': randomUUID() }
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)])
    const request = { method: 'POST', headers, body, signal: limit }
    const answer = await fetch(`${lane.providerUrl}/v1/payment_intents`, request)
      .then(async (response) => (await response.json()) as { id?: string })
      .catch(() => undefined)
    if (answer?.id !== undefined) return answer.id
    await wait(POLL_MS, undefined, { signal })
  }
  throw new Error('the provider made no second hold')
}

async function untilReleased(merchant: Merchant, intentId: string): Promise<void> {
  const isReleased = async () => (await readIntentStatus(merchant, intentId)) === 'canceled'
  await until(merchant, isReleased, 'the second hold was not released')
}

const POLL_MS = 40

/** Longer than a run, so that the late request is executed when the faults are removed. */
const LATE_MS = 3_600_000

async function payWithLateHold(merchant: Merchant): Promise<void> {
  const { lane } = merchant
  const from = await windowStart(merchant)
  const late500 = { fault: 'error_500_late', times: 1, delay_ms: LATE_MS }
  await lane.provider.plantFault({ match: CREATION, ...late500 })
  await merchant.pay(AUTOMATIC)
  const { intentId } = await findPayment(merchant)
  await lane.provider.removeFaults()
  const late = (await findHolds(merchant)).find((id) => id !== intentId)
  if (late === undefined) throw new Error('the provider made no second hold')
  await compare(merchant, [{ from, to: hoursFrom(1) }])
  await untilReleased(merchant, late)
}

/** The provider's ids of what it authorized for the run. */
async function findHolds({ lane, history }: Merchant): Promise<string[]> {
  const log = await lane.provider.listExecuted()
  return log
    .filter(({ kind }) => kind === 'payment_intent.confirm' || kind === 'payment_intent.create')
    .filter(({ metadata }) => Object.values(metadata).includes(history.run))
    .map(({ id }) => id)
}

/** The hold that the payment uses was captured, and its payment stays as it was. */
function checkPaid(merchant: Merchant): Promise<Violation[]> {
  return checkBoth(merchant, 'succeeded')
}

export const comparisons: readonly Scenario[] = [
  {
    name: 'movements.compared',
    prepare: paid(MANUAL),
    act: moveAndCompare,
    check: checkComparison,
  },
  releaseLateHold,
]

async function moveAndCompare(merchant: Merchant, id: string): Promise<void> {
  const from = await windowStart(merchant)
  await merchant.capture(id, 1_500)
  await merchant.refund(id, 500)
  const charge = await findCharge(merchant)
  const adjustment = { type: 'adjustment', amount: -700, currency: 'usd', source: charge }
  await merchant.lane.provider.control('POST', 'balance_transactions', adjustment)
  // Windows that differ, because a second run of the same window is not begun.
  await compare(
    merchant,
    [1, 2, 3].map((hours) => ({ from, to: hoursFrom(hours) })),
  )
  await compare(merchant, [{ from, to: hoursFrom(4) }])
}

async function findCharge({ lane, tenant }: Merchant): Promise<string> {
  const [row] = await lane.owner.sql<{ intent: string }[]>`
    select provider_payment_id as intent from payments where tenant_id = ${tenant.id}
  `
  const intent = await lane.provider.control('GET', `objects/${row?.intent}`)
  return (intent as { latest_charge: string }).latest_charge
}

interface BalanceTransaction {
  readonly reporting_category: string
  readonly fee: number
  readonly source: { readonly payment_intent?: string } | string | null
}

/** Every fee is posted once, and the one finding is the unexplained movement. */
async function checkComparison({ lane, tenant }: Merchant): Promise<Violation[]> {
  const { sql } = lane.owner
  const [posted] = await sql<{ fees: number; intent: string }[]>`
    select
      coalesce(sum(case debit when 'provider_fees' then amount_minor else -amount_minor end), 0)
        ::float8 as fees,
      (select provider_payment_id from payments where tenant_id = ${tenant.id}) as intent
    from ledger_postings where tenant_id = ${tenant.id} and kind = 'provider_fee'
  `
  const found = await sql<{ kind: string }[]>`
    select kind from reconciliation_findings where tenant_id = ${tenant.id} order by kind
  `
  const fees = await readFees(lane, posted?.intent ?? '')
  const kinds = found.map(({ kind }) => kind).join(', ')
  return [
    ...(posted?.fees === fees
      ? []
      : [{ invariant: 5, what: `${posted?.fees} of ${fees} in fees are posted` }]),
    ...(kinds === 'unknown_movement'
      ? []
      : [{ invariant: 5, what: `the findings are: ${kinds || 'none'}` }]),
  ]
}

/** The fees at the provider for the movements of the payment. */
async function readFees({ providerUrl, secrets }: Lane, intent: string): Promise<number> {
  const answer = await fetch(
    `${providerUrl}/v1/balance_transactions?limit=100&expand[]=data.source`,
    { headers: { authorization: `Bearer ${secrets[0]}` } },
  )
  const { data } = (await answer.json()) as { data: readonly BalanceTransaction[] }
  return data
    .filter(({ source }) => typeof source === 'object' && source?.payment_intent === intent)
    .filter(({ reporting_category: category }) => category !== 'other_adjustment')
    .reduce((sum, { fee }) => sum + fee, 0)
}
