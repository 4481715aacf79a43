// Fences the writes of a worker: by its lease epoch, and by the recovery point that it read. The first
// statement of its transaction changes the row of the key under them, and what follows stands on that.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'

/** The lease of a worker, and the recovery point at which it must still be. */
export interface Fence extends OperationRef {
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/**
 * The condition that a row of `idempotency_keys` is of the tenant, beside one on a column that tells its
 * rows apart. The tenant is named twice, so that the planner expects twice as many rows of it as the mean
 * tenant has. Where that has one row, it would take any index that begins with the tenant for as good as
 * the right one, and read all rows of a busy tenant: 12,000 for one, in test/db/busy-tenant.test.ts.
 */
export const isOfTenant = (sql: Sql | Transaction, tenantId: string): Fragment =>
  sql`tenant_id = any(array[${tenantId}::uuid, ${tenantId}::uuid])`

/** The condition that a row of `idempotency_keys` is this operation. */
export const isOperation = (sql: Sql | Transaction, { tenantId, id }: OperationRef): Fragment =>
  sql`${isOfTenant(sql, tenantId)} and id = ${id}`

/** The condition that a row of `idempotency_keys` still has this lease and this recovery point. */
export const isOwner = (sql: Sql | Transaction, fence: Fence): Fragment => sql`
  ${isOperation(sql, fence)}
  and recovery_point = ${fence.recoveryPoint} and lease_epoch = ${fence.leaseEpoch}
  -- The coalesce keeps Postgres from using a partial index: a plan made while few operations were
  -- unfinished would scan all of them when there are many.
  and coalesce(status = 'processing', false)
`
