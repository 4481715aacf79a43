// Fences the writes of a worker: by its lease epoch, and by the recovery point that it read. The
// parts of a worker's statement select from the CTE `fenced`, and so write nothing when it is
// empty.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { isOfTenant } from '../connection/expected-rows.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'

/** The lease of a worker, and the recovery point at which it must still be. */
export interface Fence extends OperationRef {
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/** The values of a fence, or the columns that have them. */
type FenceParts = Readonly<Record<keyof Fence, string | number | Fragment>>

/**
 * The condition that a row of `idempotency_keys` is this operation.
 *
 * @param keys the table, or its alias.
 */
export const isOperation = (
  sql: Sql | Transaction,
  { tenantId, id }: Pick<FenceParts, 'tenantId' | 'id'>,
  keys = sql`idempotency_keys`,
): Fragment => sql`${isOfTenant(sql, keys, tenantId)} and ${keys}.id = ${id}`

/** The condition that a row of `idempotency_keys` still has this lease and this recovery point. */
export const isOwner = (sql: Sql | Transaction, fence: FenceParts): Fragment => sql`
  ${isOperation(sql, fence)}
  and idempotency_keys.recovery_point = ${fence.recoveryPoint}
  and idempotency_keys.lease_epoch = ${fence.leaseEpoch}
  -- The coalesce keeps Postgres from using a partial index: a plan made while few operations were
  -- unfinished would scan all of them when there are many.
  and coalesce(idempotency_keys.status = 'processing', false)
`

/**
 * The CTE `fenced` of a statement that needs no fence, or whose transaction is already fenced.
 *
 * @param ownerId the `owner_id` of the rows that the parts of the statement write.
 * @param columns further columns that they read.
 */
export const withoutFence = (sql: Sql | Transaction, ownerId: string, columns = sql``): Fragment =>
  sql`fenced as (select ${ownerId}::uuid as id ${columns})`
