// Claims the checks of unknown outcomes that are due, each for one caller.
import type { OperationRef } from '../domain/operations/operation.ts'
import type { Sql, Transaction } from '../db/connection/client.ts'
import { asTenant, inService, together } from '../db/connection/transaction.ts'
import { keyColumns, type Fence, type KeyRow } from '../db/idempotency/idempotency-keys.ts'
import { nextCheckAt } from '../db/operations/leases.ts'
import { joinResources, type JoinedOperation } from '../db/operations/operation-rows.ts'

/** An operation to look up at the provider now. */
export interface DueCheck extends JoinedOperation {
  readonly unknownAt: Date
  /** For how long the outcome has been unknown, in seconds. */
  readonly unknownForSeconds: number
}

type DueRow = OperationRef & { readonly unknown_for_seconds: number }

/**
 * Takes the checks that are due, each for one caller. It takes no lease. The schedule advances before
 * the lookup: after a crash the next check follows, or a person takes over after the last one.
 *
 * @param delaysSeconds the schedule, in seconds since the outcome became unknown, ascending.
 */
export async function takeDueChecks(
  sql: Sql,
  delaysSeconds: readonly number[],
  limit: number,
): Promise<DueCheck[]> {
  return await inService(sql, async (tx) => {
    const due = await tx<DueRow[]>`
      select
        tenant_id as "tenantId", id,
        extract(epoch from now() - unknown_at)::float8 as unknown_for_seconds
      from idempotency_keys
      where status = 'unknown' and next_check_at <= now()
      order by next_check_at
      limit ${limit}
    `
    // All processes lock in the same order, so that they do not deadlock.
    const inOrder = due.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const taken = await together(inOrder.map((row) => takeIfDue(tx, delaysSeconds, row)))
    // A CHECK of the table gives each of them an `unknown_at`.
    return (await joinResources(tx, taken.flat(), true)) as DueCheck[]
  })
}

async function takeIfDue(
  tx: Transaction,
  delaysSeconds: readonly number[],
  { tenantId, id, unknown_for_seconds: unknownFor }: DueRow,
): Promise<KeyRow[]> {
  return await tx<KeyRow[]>`
    update idempotency_keys set
      checked_at = now(),
      next_check_at = ${nextCheckAt(tx, delaysSeconds, unknownFor)}
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown' and next_check_at <= now()
    returning ${keyColumns(tx)}
  `
}

/** When a postponed check is repeated. */
const POSTPONED_SECONDS = 5

/**
 * Repeats a check soon that was taken and not made. It does not count as made, so no finding
 * follows from it.
 */
export async function postponeCheckIfUnknown(
  sql: Sql,
  { tenantId, id, leaseEpoch }: Omit<Fence, 'recoveryPoint'>,
): Promise<void> {
  await asTenant(sql, tenantId)`
    update idempotency_keys set
      checked_at = null, next_check_at = now() + ${POSTPONED_SECONDS} * interval '1 second'
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and lease_epoch = ${leaseEpoch}
  `
}
