// Reads what an operator watches move: the operations that are not completed, oldest first, so that
// what is stuck stays in sight. The statement reads a few rows of partial indexes.
import type { OperationRef, OperationStatus } from '../../domain/operations/operation.ts'
import type { Sql } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'

/** Where an operation is now. */
export interface UnfinishedOperation extends OperationRef {
  readonly operation: string
  /** Null for a local operation. */
  readonly paymentId: string | null
  readonly status: OperationStatus
  readonly recoveryPoint: string
  /** Advances when another worker takes over. */
  readonly leaseEpoch: number
}

/** Lists the oldest operations that wait for a worker or run, then the oldest unknown outcomes. */
export async function listUnfinishedOperations(
  sql: Sql,
  limit: number,
): Promise<UnfinishedOperation[]> {
  return await asService(sql)<UnfinishedOperation[]>`
    with unfinished as (
      select tenant_id, id, operation, payment_id, status, recovery_point, lease_epoch, created_at
      from idempotency_keys
      where status in ('pending', 'processing')
      order by created_at
      limit ${limit}
    ),
    unknown as (
      select tenant_id, id, operation, payment_id, status, recovery_point, lease_epoch, created_at
      from idempotency_keys
      where status = 'unknown'
      order by next_check_at desc
      limit ${limit}
    )
    select
      tenant_id as "tenantId", id, operation, payment_id as "paymentId", status,
      recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from (select * from unfinished union all select * from unknown) as watched
    order by status = 'unknown', created_at, id
  `
}
