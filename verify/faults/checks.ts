// Checks the ten invariants after a run, from the provider's log, the client's history, the API,
// the moves that the database recorded, and the logs of the processes.
import type { Store } from '../../src/db/connection/client.ts'
import { type History, isDone, LABEL_FIELD } from '../simulate/history.ts'
import { checkInvariants } from '../simulate/invariants.ts'
import { readRecords, type Records } from '../simulate/records.ts'
import type { Violation } from './results.ts'
import { type Move, readLedgerChanges, readMoves } from './lane-parts.ts'
import type { Role } from './points.ts'
import type { ForwardedRequest } from './provider-proxy.ts'
import type { ServiceProcess } from './service-process.ts'
import type { Bystander } from './bystander.ts'
import { checkSecrecy, readSecrecy } from './secrecy.ts'
import type { Lane } from './lane.ts'
import type { Merchant } from './merchant.ts'

/** What the tables say about the announcement of a resource. */
export interface Announcement {
  readonly kind: 'payment' | 'refund'
  readonly id: string
  readonly status: string
  /** The status in its newest event. */
  readonly announced: string | null
  /** How many events say that it was created. */
  readonly created: number
}

async function readAnnouncements(
  { sql }: Store,
  tenantId: string,
): Promise<readonly Announcement[]> {
  return await sql<Announcement[]>`
    select
      kind, resource.id, status,
      (
        select object ->> 'status' from events
        where tenant_id = ${tenantId} and coalesce(refund_id, payment_id) = resource.id
          and dispute_id is null
        order by id desc limit 1
      ) as announced,
      (
        select count(*)::int from events
        where tenant_id = ${tenantId} and coalesce(refund_id, payment_id) = resource.id
          and type = kind || '.created'
      ) as created
    from (
      select 'payment' as kind, id, status from payments where tenant_id = ${tenantId}
      union all
      select 'refund', id, status from refunds where tenant_id = ${tenantId}
    ) as resource
  `
}

/** The newest event of a resource has its status, and one event says that it was created. */
export function checkAnnouncements(announcements: readonly Announcement[]): Violation[] {
  return announcements.flatMap(({ kind, id, status, announced, created }) => [
    ...(announced === status
      ? []
      : [{ invariant: 5, what: `${kind} ${id} is ${status}, and announced as ${announced}` }]),
    ...(created === 1
      ? []
      : [{ invariant: 5, what: `${kind} ${id} was announced as created ${created} times` }]),
  ])
}

/** A phase that was recorded by another epoch than the one that owned the row. */
interface LateRecord {
  readonly operation: string
  readonly reached: string
  readonly recordedBy: number
  readonly ownedBy: number
}

async function readLateRecords({ sql }: Store, tenantId: string): Promise<LateRecord[]> {
  return await sql<LateRecord[]>`
    select
      run.operation, run.reached, run.lease_epoch as "recordedBy", move.lease_epoch as "ownedBy"
    from phase_runs as run
    cross join lateral (
      select lease_epoch from fault_suite_moves as move
      where move.tenant_id = run.tenant_id and move.id = run.operation_id
        and move.recovery_point = run.reached
      order by seq
      limit 1
    ) as move
    where run.tenant_id = ${tenantId} and run.lease_epoch <> move.lease_epoch
  `
}

export function checkLateRecords(records: readonly LateRecord[]): Violation[] {
  return records.map(({ operation, reached, recordedBy, ownedBy }) => ({
    invariant: 6,
    what: `${operation}: epoch ${recordedBy} recorded ${reached} while epoch ${ownedBy} owned it`,
  }))
}

/** A recovery point that was recorded more than once for one operation. */
interface RepeatedRecord {
  readonly operation: string
  readonly reached: string
  readonly times: number
}

async function readRepeatedRecords({ sql }: Store, tenantId: string): Promise<RepeatedRecord[]> {
  return await sql<RepeatedRecord[]>`
    select operation, reached, count(*)::int as times from phase_runs
    where tenant_id = ${tenantId} and reached is not null
    group by operation_id, operation, reached
    having count(*) > 1
  `
}

export function checkRepeatedRecords(records: readonly RepeatedRecord[]): Violation[] {
  return records.map(({ operation, reached, times }) => ({
    invariant: 6,
    what: `${operation}: ${reached} was recorded ${times} times`,
  }))
}

/** A claim of an operation without an owner needs an epoch that no owner had before. */
export function checkClaims(operations: readonly (readonly Move[])[]): Violation[] {
  return operations.flatMap((moves) =>
    moves.slice(1).flatMap((move, index) => {
      const before = moves[index] as Move
      const isClaim = before.status !== 'processing' && move.status === 'processing'
      if (!isClaim || move.leaseEpoch > before.leaseEpoch) return []
      return [
        { invariant: 6, what: `${move.operation}: claimed again in epoch ${move.leaseEpoch}` },
      ]
    }),
  )
}

/** A time in which the store of a process was unreachable. */
interface Absence {
  readonly from: number
  readonly to: number
}

type Caller = Pick<ServiceProcess, 'role'> & {
  readonly store: { readonly absences: readonly Absence[] }
  readonly provider: { readonly requests: readonly ForwardedRequest[] }
}

/** @param isConcurrent whether several operations may have been in progress. */
export function checkCallsDuringAbsence(
  callers: readonly Caller[],
  isConcurrent: boolean,
): Violation[] {
  return callers.flatMap(({ role, store, provider }) =>
    store.absences.flatMap(({ from, to }) => {
      const during = provider.requests.filter(({ at }) => at >= from && at <= to)
      return checkCallsWithoutStore(role, during, isConcurrent)
    }),
  )
}

/**
 * A phase that has begun may complete its call, and repeat it under its lease. Another call needs a
 * record in the store first. Each of several operations may have begun a call; lookups do not say
 * which operation they belong to, and are left out then.
 */
export function checkCallsWithoutStore(
  role: Role,
  calls: readonly ForwardedRequest[],
  isConcurrent: boolean,
): Violation[] {
  const keyed = calls.filter(({ key }) => key !== undefined)
  const groups = isConcurrent
    ? [...Map.groupBy(keyed, ({ key = '' }) => operationOf(key)).values()]
    : [calls]
  return groups.flatMap((own) => {
    const different = new Map(own.map(({ name, key = name }) => [key, name]))
    if (different.size < 2) return []
    const shown = [...different.values()].join(' to ')
    return [{ invariant: 8, what: `the ${role} went on from ${shown} without a store` }]
  })
}

/** The provider's idempotency key names an operation and a recovery point. */
function operationOf(key: string): string {
  return key.slice(0, key.lastIndexOf('_'))
}

/** The card of the scenarios that must succeed. */
const APPROVED_CARD = 'pm_card_visa'

/**
 * A process that ends leaves its operations to their leases. Without a successor they stay open.
 */
const UNEXPECTED_EXIT = 7

/** The logs and the processes of a run, including the processes that have ended. */
interface Evidence {
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
  const [records, announced, moving, changed, secrecy, crossings] = await Promise.all([
    readRecords(sender.client, lane, history, untouched),
    readAnnouncements(lane.owner, tenant.id),
    checkMoving(lane, merchant),
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
    ...moving,
    ...checkCallsDuringAbsence(processes, isConcurrent),
    ...crossings,
    // After all requests, so that the ids of every answer are included.
    ...bystander.findSharedIds(merchant),
    ...merchant.violations,
    ...checkSecrecy(secrecy),
  ]
}

/** How the operations moved, which can be checked while they are in progress. */
export async function checkMoving({ owner }: Lane, { tenant }: Merchant): Promise<Violation[]> {
  const [moves, late, repeated] = await Promise.all([
    readMoves(owner, tenant.id),
    readLateRecords(owner, tenant.id),
    readRepeatedRecords(owner, tenant.id),
  ])
  return [
    ...checkMoves(moves),
    ...checkClaims(moves),
    ...checkLateRecords(late),
    ...checkRepeatedRecords(repeated),
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
