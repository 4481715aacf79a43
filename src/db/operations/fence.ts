// The guard of every write of a worker: its lease epoch, and the recovery point that it has seen. A part
// of a statement that writes for a worker selects from the CTE `fenced`, and so writes nothing without it.
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'

/** This lease, and no step taken since. */
export interface Fence extends OperationRef {
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

export const isOwner = (sql: Sql | Transaction, hold: Fence): Fragment => sql`
  tenant_id = ${hold.tenantId} and id = ${hold.id}
  and recovery_point = ${hold.recoveryPoint} and lease_epoch = ${hold.leaseEpoch}
  and status = 'processing'
`

/** The CTE `fenced` of a statement that no hold guards, or whose transaction has guarded it already. */
export const withoutFence = (sql: Sql | Transaction): Fragment => sql`fenced as (select)`
