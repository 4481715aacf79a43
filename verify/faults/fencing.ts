// Whether workers keep out of each other's way: each claim raises the epoch, each record is of the epoch that holds
// the operation, and nobody goes from one call on to the next while the store is out of reach.
import type { Store } from '../../src/db/connection/client.ts'
import type { Move } from './moves.ts'
import type { Role } from './points.ts'
import type { PassedRequest } from './provider-proxy.ts'
import type { Violation } from './results.ts'
import type { ServiceProcess } from './service-process.ts'

/** A step in the timeline of the service that another epoch has recorded than the one that held the row. */
export interface LateRecord {
  readonly operation: string
  readonly reached: string
  readonly recordedBy: number
  readonly heldBy: number
}

export async function readLateRecords({ sql }: Store, tenantId: string): Promise<LateRecord[]> {
  return await sql<LateRecord[]>`
    select
      run.operation, run.reached, run.lease_epoch as "recordedBy", move.lease_epoch as "heldBy"
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
  return records.map(({ operation, reached, recordedBy, heldBy }) => ({
    invariant: 6,
    what: `${operation}: epoch ${recordedBy} has recorded ${reached} when ${heldBy} held it`,
  }))
}

/** A recovery point that the timeline has more than once for one operation. */
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

/** Who takes an operation that nobody works on gets an epoch that nobody had. */
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

/** What a process did while its store was out of reach. */
export interface Absence {
  readonly from: number
  readonly to: number
}

type Caller = Pick<ServiceProcess, 'role'> & {
  readonly store: { readonly absences: readonly Absence[] }
  readonly provider: { readonly passed: readonly PassedRequest[] }
}

/** @param isCrowded whether several operations may have been under way. */
export function checkCallsDuringAbsence(
  callers: readonly Caller[],
  isCrowded = false,
): Violation[] {
  return callers.flatMap(({ role, store, provider }) =>
    store.absences.flatMap(({ from, to }) => {
      const during = provider.passed.filter(({ at }) => at >= from && at <= to)
      return checkCallsWithoutStore(role, during, isCrowded)
    }),
  )
}

/**
 * The call of a phase that had begun may end, and be made again under its lease. Going on to another one
 * needs a record, which the store has not got. Of several operations each may have had a call begun, and whose
 * a look is nothing says.
 */
export function checkCallsWithoutStore(
  role: Role,
  calls: readonly PassedRequest[],
  isCrowded: boolean,
): Violation[] {
  const keyed = calls.filter(({ key }) => key !== undefined)
  const groups = isCrowded
    ? [...Map.groupBy(keyed, ({ key = '' }) => operationOf(key)).values()]
    : [calls]
  return groups.flatMap((own) => {
    const different = new Map(own.map(({ name, key = name }) => [key, name]))
    if (different.size < 2) return []
    const shown = [...different.values()].join(' to ')
    return [{ invariant: 8, what: `the ${role} went on from ${shown} without a store` }]
  })
}

/** A provider key is that of an operation and a recovery point. */
function operationOf(key: string): string {
  return key.slice(0, key.lastIndexOf('_'))
}
