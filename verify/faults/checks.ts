// Checks the ten invariants after a run, from the provider's log, the client's history, the API,
// the moves that the database recorded, and the logs of the processes.
import { isDone, LABEL_FIELD, type History } from '../simulate/history.ts'
import { checkInvariants } from '../simulate/invariants.ts'
import { readRecords, type Records } from '../simulate/records.ts'
import { checkAnnouncements, readAnnouncements } from './announcements.ts'
import type { Bystander } from './bystander.ts'
import {
  checkCallsDuringAbsence,
  checkClaims,
  checkLateRecords,
  checkRepeatedRecords,
  readLateRecords,
  readRepeatedRecords,
} from './fencing.ts'
import { checkSecrecy, readSecrecy } from './secrecy.ts'
import type { Lane } from './lane.ts'
import { readLedgerChanges, readMoves, type Move } from './moves.ts'
import type { Violation } from './results.ts'
import type { ServiceProcess } from './service-process.ts'
import type { Merchant } from './merchant.ts'

/** The card of the scenarios that must succeed. */
const APPROVED_CARD = 'pm_card_visa'

/**
 * A process that ends leaves its operations to their leases. Without a successor they stay open.
 */
const UNEXPECTED_EXIT = 7

/** The logs and the processes of a run, including the processes that have ended. */
export interface Evidence {
  readonly lines: readonly string[]
  readonly processes: readonly ServiceProcess[]
  /** Whether several operations may have been in progress at a time. */
  readonly isConcurrent: boolean
}

export async function checkRun(
  lane: Lane,
  merchant: Merchant,
  bystander: Bystander,
  { lines, processes, isConcurrent }: Evidence,
): Promise<Violation[]> {
  const { history, sender, tenant } = merchant
  const untouched = { balances: [], newest: undefined }
  const [records, announced, moves, late, repeated, changed, secrecy, crossings] =
    await Promise.all([
      readRecords(sender.client, lane, history, untouched),
      readAnnouncements(lane.owner, tenant.id),
      readMoves(lane.owner, tenant.id),
      readLateRecords(lane.owner, tenant.id),
      readRepeatedRecords(lane.owner, tenant.id),
      readLedgerChanges(lane.owner, tenant.id),
      readSecrecy(lane, merchant, lines),
      bystander.findCrossings(merchant),
    ])
  return [
    ...checkPromises(history, records),
    ...checkOnce(history, records),
    ...checkRefundedOnce(history, records),
    ...checkDeclines(history),
    ...checkLedgerEntries(records),
    ...checkAnnouncements(announced),
    ...changed,
    ...checkMoves(moves),
    ...checkClaims(moves),
    ...checkLateRecords(late),
    ...checkRepeatedRecords(repeated),
    ...checkCallsDuringAbsence(processes, isConcurrent),
    ...crossings,
    // After all requests, so that the ids of every answer are included.
    ...bystander.findSharedIds(merchant),
    ...merchant.violations,
    ...checkSecrecy(secrecy),
  ]
}

/** A process that ends by itself breaks the run, even if its successor completes all work. */
export function checkEnds(exits: readonly string[]): Violation[] {
  return exits.map((what) => ({ invariant: UNEXPECTED_EXIT, what }))
}

function checkPromises(history: History, records: Records): Violation[] {
  return checkInvariants(history, records).flatMap(({ invariant, promise, broken }) =>
    broken.map((what) => ({ invariant, what: `${promise}: ${what}` })),
  )
}

/** At most one payment on record for each idempotency key. */
function checkOnce({ operations }: History, { payments }: Records): Violation[] {
  const wanted = operations.filter(({ content }) => content.kind === 'payment.create').length
  if (payments.length <= wanted) return []
  return [{ invariant: 1, what: `${payments.length} payments for ${wanted} keys` }]
}

/** A card that the provider always approves is not declined, even with injected faults. */
export function checkDeclines({ operations }: Pick<History, 'operations'>): Violation[] {
  return operations.flatMap(({ content, key, answers }) => {
    if (content.kind !== 'payment.create' || content.body.payment_method !== APPROVED_CARD)
      return []
    const isDeclined = answers.some(({ status }) => status === 402)
    if (!isDeclined) return []
    return [{ invariant: 5, what: `${key}: declined here, and not by the provider` }]
  })
}

/** At most one refund for each idempotency key, on record and at the provider. */
export function checkRefundedOnce(
  { operations }: History,
  { executed, refunds }: Pick<Records, 'executed' | 'refunds'>,
): Violation[] {
  const wanted = operations.filter(
    ({ content, isCanceled }) => content.kind === 'refund.create' || isCanceled === true,
  ).length
  const recorded = [`${refunds.length} refunds for ${wanted} keys`]
  const executedRefunds = executed.filter(({ kind }) => kind === 'refund.create')
  const byIntention = Map.groupBy(
    executedRefunds,
    ({ metadata }) => metadata[LABEL_FIELD] ?? metadata['atomic_refund'] ?? 'an unlabelled request',
  )
  const repeated = [...byIntention]
    .filter(([, own]) => own.length > 1)
    .map(([label, own]) => `${own.length} refunds were executed for ${label}`)
  return [...(refunds.length > wanted ? recorded : []), ...repeated].map((what) => ({
    invariant: 1,
    what,
  }))
}

function checkLedgerEntries({ ledger, payments }: Records): Violation[] {
  const known = new Set(payments.map(({ id }) => id))
  const strange = ledger.filter(({ payment }) => !known.has(payment))
  const unbalanced = ledger.flatMap(({ id, entries }) => {
    const sums = new Map<string, number>()
    for (const { currency, amount } of entries) {
      sums.set(currency, (sums.get(currency) ?? 0) + amount)
    }
    return [...sums]
      .filter(([, sum]) => sum !== 0)
      .map(([currency, sum]) => ({ invariant: 4, what: `${id} sums to ${sum} ${currency}` }))
  })
  return [
    ...unbalanced,
    ...strange.map(({ id, payment }) => ({
      invariant: 5,
      what: `${id} was posted for ${payment}, which is not on record`,
    })),
  ]
}

/** The rank of each recovery point. Points of one rank exclude each other. */
const RANKS: Readonly<Record<string, number>> = {
  started: 0,
  moved: 1,
  authorized: 2,
  refused: 3,
  kept: 4,
  captured: 5,
  declined: 5,
  finished: 6,
}

export function checkMoves(operations: readonly (readonly Move[])[]): Violation[] {
  return operations.flatMap((moves) =>
    moves.slice(1).flatMap((move, index) => {
      const before = moves[index] as Move
      const isForward =
        (move.recoveryPoint === before.recoveryPoint || rankOf(move) > rankOf(before)) &&
        move.leaseEpoch >= before.leaseEpoch &&
        before.recoveryPoint !== 'finished'
      if (isForward) return []
      return [{ invariant: 6, what: `${move.operation}: ${show(before)} -> ${show(move)}` }]
    }),
  )
}

function rankOf({ recoveryPoint }: Move): number {
  return RANKS[recoveryPoint] ?? -1
}

function show({ recoveryPoint, leaseEpoch, status }: Move): string {
  return `${recoveryPoint}, ${status}, epoch ${leaseEpoch}`
}

/** The results of the operations, in short. */
export function describeOutcome({ operations }: History): string {
  return operations
    .map((operation) => {
      const { answers, pending } = operation
      const answer = answers[0] ?? pending
      if (answer === undefined) return 'no answer'
      const shown = isDone(operation) ? answer.resource.status : answer.problem
      return `${answer.status} ${shown ?? ''}`.trim()
    })
    .join(', ')
}
