// What a run is judged by: the ten invariants, from the provider's log, the client's history, the API, the
// moves that the database has kept, and what the processes have said.
import { isDone, type History } from '../../simulate/history.ts'
import { checkInvariants } from '../../simulate/invariants.ts'
import { readRecords, type Records } from '../../simulate/records.ts'
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
import { readMoves, type Move } from './moves.ts'
import type { Violation } from './results.ts'
import type { Shop } from './shop.ts'

/** Which invariant of ARCHITECTURE.md each of the simulation's promises is about. */
export const INVARIANT_OF: Readonly<Record<string, number>> = {
  'What succeeded was captured once, for the exact amount': 1,
  'No payment was authorised twice at the provider': 1,
  'What was declined, failed, canceled or held moved no money': 5,
  "The provider's refunds are those on record": 5,
  'No payment was refunded beyond its capture': 1,
  'What was refused left no trace': 1,
  'Key reuse and wrong requests were refused': 3,
  'One key had one answer, byte for byte': 3,
  'What clients were told is what is on record': 2,
  "The ledger agrees with the provider's log": 5,
  'Balances are the sum of the ledger': 4,
  'Nothing is left unsettled': 7,
}

/** Whoever ends leaves its operations to the leases; with nobody to succeed it they would stay open. */
const ENDED_BY_ITSELF = 7

export async function checkRun(
  lane: Lane,
  shop: Shop,
  bystander: Bystander,
  lines: readonly string[],
): Promise<Violation[]> {
  const { history, sender, tenant } = shop
  const untouched = { balances: [], newest: undefined }
  const [records, moves, late, repeated, secrecy, crossings] = await Promise.all([
    readRecords(sender.client, lane.provider, history, untouched),
    readMoves(lane.owner, tenant.id),
    readLateRecords(lane.owner, tenant.id),
    readRepeatedRecords(lane.owner, tenant.id),
    readSecrecy(lane, tenant, lines),
    bystander.findCrossings(shop),
  ])
  return [
    ...checkPromises(history, records),
    ...checkOnce(history, records),
    ...checkRefundedOnce(records),
    ...checkLedgerEntries(records),
    ...checkMoves(moves),
    ...checkClaims(moves),
    ...checkLateRecords(late),
    ...checkRepeatedRecords(repeated),
    ...checkCallsDuringAbsence(lane.processes),
    ...crossings,
    ...shop.found,
    ...checkSecrecy(secrecy),
  ]
}

/** A process that ends by itself may leave nothing undone, because its successor does it: it is a fault all the same. */
export function checkEnds(unasked: readonly string[]): Violation[] {
  return unasked.map((what) => ({ invariant: ENDED_BY_ITSELF, what }))
}

function checkPromises(history: History, records: Records): Violation[] {
  return checkInvariants(history, records).flatMap(({ promise, broken }) =>
    broken.map((what) => ({ invariant: INVARIANT_OF[promise] ?? 0, what: `${promise}: ${what}` })),
  )
}

/** At most one payment for each key, whatever was executed for it. */
function checkOnce({ operations }: History, { payments }: Records): Violation[] {
  const wanted = operations.filter(({ wish }) => wish.kind === 'payment.create').length
  if (payments.length <= wanted) return []
  return [{ invariant: 1, what: `${payments.length} payments for ${wanted} keys` }]
}

function checkRefundedOnce({ executed }: Records): Violation[] {
  const refunds = executed.filter(({ kind }) => kind === 'refund.create')
  const byRefund = Map.groupBy(refunds, ({ metadata }) => metadata['atomic_refund'] ?? 'nothing')
  return [...byRefund]
    .filter(([, own]) => own.length > 1)
    .map(([id, own]) => ({ invariant: 1, what: `${id} was refunded ${own.length} times` }))
}

function checkLedgerEntries({ ledger }: Records): Violation[] {
  return ledger.flatMap(({ id, entries }) => {
    const sums = new Map<string, number>()
    for (const { currency, amount } of entries) {
      sums.set(currency, (sums.get(currency) ?? 0) + amount)
    }
    return [...sums]
      .filter(([, sum]) => sum !== 0)
      .map(([currency, sum]) => ({ invariant: 4, what: `${id} sums to ${sum} ${currency}` }))
  })
}

/** How far along each recovery point is; those of one rank exclude each other. */
const RANKS: Readonly<Record<string, number>> = {
  started: 0,
  authorized: 1,
  captured: 2,
  declined: 2,
  finished: 3,
}

export function checkMoves(operations: readonly (readonly Move[])[]): Violation[] {
  return operations.flatMap((moves) =>
    moves.slice(1).flatMap((move, index) => {
      const before = moves[index] as Move
      const isForward =
        rankOf(move) >= rankOf(before) &&
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

/** What a run has come to, in short. */
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
