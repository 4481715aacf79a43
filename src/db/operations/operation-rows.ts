// Reads operations together with their resources: the payment, the refund, the dispute and the
// tenant's fees.
import type { OperationRef, OperationStatus } from '../../domain/operations/operation.ts'
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { seesTenant } from '../connection/row-security.ts'
import { isOperation } from './fence.ts'

/** An operation with its resources. */
export interface OperationRow extends OperationRef {
  readonly operation: string
  readonly key: string
  readonly parameters: Readonly<Record<string, unknown>>
  readonly paymentId: string
  readonly recoveryPoint: string
  readonly leaseEpoch: number
  /** The number of claims so far. */
  readonly attempt: number
  /**
   * Whether the provider call of the current phase may already have been executed, by an earlier
   * owner.
   */
  readonly inDoubt: boolean
  /**
   * How long ago the provider call of the current phase can first have been made, in milliseconds.
   */
  readonly phaseAgeMs: number
  /** How long ago the operation was accepted, in milliseconds. */
  readonly ageMs: number
  /** Distinguishes the provider keys of a phase. */
  readonly keyGeneration: number
  readonly payment: Payment
  readonly refund: Refund | null
  readonly dispute: Dispute | null
  readonly fees: FeeSchedule
}

/** A row of `selectOperation`. */
export interface JoinedRow {
  tenant_id: string
  id: string
  operation: string
  key: string
  parameters: Record<string, unknown>
  payment_id: string
  recovery_point: string
  lease_epoch: number
  attempts: number
  in_doubt: boolean
  phase_age_ms: number
  age_ms: number
  key_generation: number
  payment: PaymentRow
  refund: RefundRow | null
  dispute: DisputeRow | null
  fee_basis_points: number
  fee_fixed_minor: string
}

/**
 * A query for the operations in `operation`, a table or a CTE, with their resources. Each resource
 * is a subselect, which is always looked up by its key: a join that is planned while the tables are
 * small reads all payments of the tenant, and goes on doing so when there are many.
 *
 * @param columns more columns of the operation's row.
 */
export function selectOperation(
  sql: Sql | Transaction,
  operation: Fragment,
  columns = sql`operation.tenant_id`,
): Fragment {
  return sql`
    select
      ${columns},
      operation.id, operation.operation, operation.key, operation.parameters,
      operation.payment_id, operation.recovery_point, operation.lease_epoch, operation.attempts,
      operation.in_doubt, operation.key_generation,
      (extract(epoch from now() - operation.phase_began_at) * 1000)::float8 as phase_age_ms,
      (extract(epoch from now() - operation.created_at) * 1000)::float8 as age_ms,
      (
        select to_jsonb(payments) from payments
        where payments.tenant_id = operation.tenant_id and payments.id = operation.payment_id
      ) as payment,
      (
        select to_jsonb(refunds) from refunds
        where refunds.tenant_id = operation.tenant_id and refunds.id = operation.refund_id
      ) as refund,
      (
        select to_jsonb(disputes) from disputes
        where disputes.tenant_id = operation.tenant_id and disputes.id = operation.dispute_id
      ) as dispute,
      tenants.fee_basis_points, tenants.fee_fixed_minor
    from ${operation} as operation
    join tenants on tenants.id = operation.tenant_id
  `
}

export function operationFromRow(row: JoinedRow): OperationRow {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    operation: row.operation,
    key: row.key,
    parameters: row.parameters,
    paymentId: row.payment_id,
    recoveryPoint: row.recovery_point,
    leaseEpoch: row.lease_epoch,
    attempt: row.attempts,
    inDoubt: row.in_doubt,
    phaseAgeMs: row.phase_age_ms,
    ageMs: row.age_ms,
    keyGeneration: row.key_generation,
    payment: paymentFromRow(row.payment),
    refund: row.refund && refundFromRow(row.refund),
    dispute: row.dispute && disputeFromRow(row.dispute),
    fees: { basisPoints: row.fee_basis_points, fixedMinor: Number(row.fee_fixed_minor) },
  }
}

/** Reads an operation for a caller without a lease. */
export async function readOperation(
  tx: Transaction,
  ref: OperationRef,
): Promise<OperationRow | undefined> {
  const [row] = await tx<JoinedRow[]>`
    ${selectOperation(tx, tx`idempotency_keys`)}
    where ${seesTenant(tx, ref.tenantId)}
      and operation.tenant_id = ${ref.tenantId} and operation.id = ${ref.id}
  `
  return row && operationFromRow(row)
}

/** The progress of an operation, and its lease epoch. */
export interface OperationState {
  readonly status: OperationStatus
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/** Reads who may act on an operation now. */
export async function readOperationState(
  sql: Sql,
  ref: OperationRef,
): Promise<OperationState | undefined> {
  const [row] = await sql<OperationState[]>`
    select status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from idempotency_keys
    where ${seesTenant(sql, ref.tenantId)} and ${isOperation(sql, ref)}
  `
  return row
}
