// Fences the writes of a worker: by its lease epoch, and by the recovery point that it read. The
// parts of a worker's statement select from the CTE `fenced`, and so write nothing when it is
// empty.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'

/** The lease of a worker, and the recovery point at which it must still be. */
export interface Fence extends OperationRef {
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/** The condition that a row of `idempotency_keys` still has this lease and this recovery point. */
export const isOwner = (sql: Sql | Transaction, fence: Fence): Fragment => sql`
  tenant_id = ${fence.tenantId} and id = ${fence.id}
  and recovery_point = ${fence.recoveryPoint} and lease_epoch = ${fence.leaseEpoch}
  and status = 'processing'
`

/** The CTE `fenced` of a statement that needs no fence, or whose transaction is already fenced. */
export const withoutFence = (sql: Sql | Transaction): Fragment => sql`fenced as (select)`
