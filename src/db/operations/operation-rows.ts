// Reads operations together with their resources: the payment, the refund, the dispute and the
// tenant's fees.
import type { OperationRef, OperationStatus } from '../../domain/operations/operation.ts'
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { asTenant, lastly, together } from '../connection/transaction.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { disputeFromRow, type DisputeRow } from '../payments/disputes.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { isOperation } from './fence.ts'
import type { idempotencyKeys } from '../schema/idempotency-keys.ts'
import type { RowOf } from '../schema/row-of.ts'
import type { tenants } from '../schema/tenants.ts'

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

/** The columns of an operation's row that are read. */
export type OperationColumns = Pick<
  RowOf<typeof idempotencyKeys>,
  | 'tenant_id'
  | 'id'
  | 'operation'
  | 'key'
  | 'parameters'
  | 'refund_id'
  | 'dispute_id'
  | 'recovery_point'
  | 'lease_epoch'
  | 'attempts'
  | 'in_doubt'
  | 'key_generation'
  | 'created_at'
  | 'unknown_at'
  | 'failure_kept'
  | 'evidence'
> & { readonly payment_id: string }

/** By the clock of the database. */
interface Ages {
  phase_age_ms: number
  age_ms: number
  unknown_for_seconds: number | null
}

/** An operation's row with those of its resources. */
export interface JoinedRow extends OperationColumns, Ages, FeeColumns {
  payment: PaymentRow
  refund: RefundRow | null
  dispute: DisputeRow | null
}

/** The select list of an operation. */
export const operationColumns = (tx: Transaction): Fragment => tx`
  tenant_id, id, operation, key, parameters, payment_id, refund_id, dispute_id, recovery_point,
  lease_epoch, attempts, in_doubt, key_generation, created_at, unknown_at, failure_kept, evidence
`

/**
 * Reads the resources of operations, and how old they are.
 *
 * @param isLast whether the transaction ends with it.
 */
export async function joinResources(
  tx: Transaction,
  rows: readonly OperationColumns[],
  isLast = false,
): Promise<JoinedRow[]> {
  if (rows.length === 0) return []
  const tenantIds = [...new Set(rows.map((row) => row.tenant_id))]
  const find = <Row extends ResourceOfTenant>(
    table: 'payments' | 'refunds' | 'disputes',
    ids: readonly (string | null)[],
  ) => findRows<Row>(tx, table, tenantIds, ids)
  const reading = [
    find<PaymentRow>(
      'payments',
      rows.map((row) => row.payment_id),
    ),
    find<RefundRow>(
      'refunds',
      rows.map((row) => row.refund_id),
    ),
    find<DisputeRow>(
      'disputes',
      rows.map((row) => row.dispute_id),
    ),
    findFees(tx, tenantIds),
    findAges(tx, tenantIds, rows),
  ] as const
  const found = isLast ? lastly(tx, reading) : together(reading)
  const [payments, refunds, disputes, tenants, ages] = await found
  return rows.flatMap((row) => {
    const { tenant_id: tenantId } = row
    const payment = payments.get(nameOf(tenantId, row.payment_id))
    const refund = refunds.get(nameOf(tenantId, row.refund_id)) ?? null
    const dispute = disputes.get(nameOf(tenantId, row.dispute_id)) ?? null
    const fees = tenants.get(tenantId)
    const age = ages.get(nameOf(tenantId, row.id))
    if (payment === undefined || fees === undefined || age === undefined) return []
    return [{ ...row, ...age, ...fees, payment, refund, dispute }]
  })
}

interface ResourceOfTenant {
  readonly tenant_id: string
  readonly id: string
}

/** By tenant and id. */
async function findRows<Row extends ResourceOfTenant>(
  tx: Transaction,
  table: string,
  tenantIds: readonly string[],
  ids: readonly (string | null)[],
): Promise<ReadonlyMap<string, Row>> {
  const named = ids.filter((id) => id !== null)
  if (named.length === 0) return new Map()
  const found = await tx<Row[]>`
    select * from ${tx(table)}
    where tenant_id = any(${[...tenantIds]}::uuid[]) and id = any(${named}::uuid[])
  `
  return new Map(found.map((row) => [nameOf(row.tenant_id, row.id), row]))
}

const nameOf = (tenantId: string, id: string | null): string => `${tenantId} ${id}`

/** Not by the statement that changes them: on Citus, that may return no function of the time. */
async function findAges(
  tx: Transaction,
  tenantIds: readonly string[],
  rows: readonly OperationColumns[],
): Promise<ReadonlyMap<string, Ages>> {
  const found = await tx<(Ages & ResourceOfTenant)[]>`
    select
      tenant_id, id,
      (extract(epoch from now() - phase_began_at) * 1000)::float8 as phase_age_ms,
      (extract(epoch from now() - created_at) * 1000)::float8 as age_ms,
      extract(epoch from now() - unknown_at)::float8 as unknown_for_seconds
    from idempotency_keys
    where tenant_id = any(${[...tenantIds]}::uuid[])
      and id = any(${rows.map(({ id }) => id)}::uuid[])
  `
  return new Map(found.map(({ tenant_id: tenantId, id, ...ages }) => [nameOf(tenantId, id), ages]))
}

type FeeColumns = Pick<RowOf<typeof tenants>, 'fee_basis_points' | 'fee_fixed_minor'>

async function findFees(
  tx: Transaction,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, FeeColumns>> {
  const rows = await tx<(FeeColumns & { readonly id: string })[]>`
    select id, fee_basis_points, fee_fixed_minor from tenants
    where id = any(${[...tenantIds]}::uuid[])
  `
  return new Map(rows.map(({ id, ...fees }) => [id, fees]))
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
    fees: { basisPoints: row.fee_basis_points, fixedMinor: row.fee_fixed_minor },
  }
}

/** Reads an operation for a caller without a lease. */
export async function readOperation(
  tx: Transaction,
  ref: OperationRef,
): Promise<OperationRow | undefined> {
  const rows = await tx<OperationColumns[]>`
    select ${operationColumns(tx)} from idempotency_keys where ${isOperation(tx, ref)}
  `
  const [row] = await joinResources(tx, rows)
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
  const [row] = await asTenant(sql, ref.tenantId)<OperationState[]>`
    select status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch"
    from idempotency_keys
    where ${isOperation(sql, ref)}
  `
  return row
}
