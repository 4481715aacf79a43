// Checks that workers are fenced: each claim raises the epoch, each record is made by the epoch
// that owns the operation, and no process goes on to another provider call while the store is
// unreachable.
import type { Store } from '../../src/db/connection/client.ts'
import type { Move } from './moves.ts'
import type { Role } from './points.ts'
import type { ForwardedRequest } from './provider-proxy.ts'
import type { Violation } from './results.ts'
import type { ServiceProcess } from './service-process.ts'

/** A phase that was recorded by another epoch than the one that owned the row. */
export interface LateRecord {
  readonly operation: string
  readonly reached: string
  readonly recordedBy: number
  readonly ownedBy: number
}

export async function readLateRecords({ sql }: Store, tenantId: string): Promise<LateRecord[]> {
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
export interface RepeatedRecord {
  readonly operation: string
  readonly reached: string
  readonly times: number
}

export async function readRepeatedRecords(
  { sql }: Store,
  tenantId: string,
): Promise<RepeatedRecord[]> {
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
 * record in the store first. Each of several operations may have begun a call; look-ups do not say
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
