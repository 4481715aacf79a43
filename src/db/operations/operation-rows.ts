// Reads operations together with their resources: the payment, the refund, the dispute and the
// tenant's fees.
import type { OperationRef, OperationStatus } from '../../domain/operations/operation.ts'
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Dispute } from '../../domain/payments/dispute.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { objectOf, type ObjectOf } from '../connection/rows.ts'
import { asTenant, thenCommit, together } from '../connection/transaction.ts'
import { keyColumns, type KeyRow, isOperation } from '../idempotency/idempotency-keys.ts'
import { disputeFromRow } from '../payments/disputes.ts'
import { paymentFromRow } from '../payments/payments.ts'
import { refundFromRow } from '../payments/refunds.ts'

/** An operation with its resources. */
export interface OperationRow extends Pick<
  ObjectOf<KeyRow>,
  | 'tenantId'
  | 'id'
  | 'operation'
  | 'key'
  | 'createdAt'
  | 'parameters'
  | 'recoveryPoint'
  | 'leaseEpoch'
  | 'inDoubt'
  | 'keyGeneration'
> {
  readonly paymentId: string
  /** The claims that count, this one included: a reopening starts again. */
  readonly attempt: number
  /** How long ago the provider call of the current phase can first have been made. */
  readonly phaseAgeMs: number
  /** How long ago the operation was accepted. */
  readonly ageMs: number
  readonly payment: Payment
  readonly refund: Refund | null
  readonly dispute: Dispute | null
  readonly fees: FeeSchedule
}

/** An operation, with what the outcome resolver reads of it besides. */
export interface JoinedOperation
  extends OperationRow, Pick<ObjectOf<KeyRow>, 'unknownAt' | 'failureStored' | 'evidence'> {
  readonly unknownForSeconds: number | null
}

/**
 * Reads the resources of operations, and how old they are.
 *
 * @param isLast whether the transaction ends with it.
 */
export async function joinResources(
  tx: Transaction,
  rows: readonly KeyRow[],
  isLast = false,
): Promise<JoinedOperation[]> {
  if (rows.length === 0) return []
  const reading = [
    findResources(tx, rows, 'payments', 'payment_id', paymentFromRow),
    findResources(tx, rows, 'refunds', 'refund_id', refundFromRow),
    findResources(tx, rows, 'disputes', 'dispute_id', disputeFromRow),
    findFees(tx, rows),
    findAges(tx, rows),
  ] as const
  const found = isLast ? thenCommit(tx, reading) : together(reading)
  const [payments, refunds, disputes, schedules, ages] = await found
  return rows.flatMap((row) => {
    const operation = objectOf(row)
    const { tenantId, paymentId, attempts: attempt } = operation
    const payment = payments.get(nameOf({ tenantId, id: paymentId }))
    const refund = refunds.get(nameOf({ tenantId, id: row.refund_id })) ?? null
    const dispute = disputes.get(nameOf({ tenantId, id: row.dispute_id })) ?? null
    const fees = schedules.get(tenantId)
    const age = ages.get(nameOf(operation))
    if (paymentId === null || !payment || !fees || !age) return []
    return { ...operation, ...age, attempt, paymentId, payment, refund, dispute, fees }
  })
}

const tenantsOf = (rows: readonly KeyRow[]): string[] => [
  ...new Set(rows.map((row) => row.tenant_id)),
]

/** By tenant and id. */
async function findResources<Resource extends OperationRef>(
  tx: Transaction,
  rows: readonly KeyRow[],
  table: 'payments' | 'refunds' | 'disputes',
  column: 'payment_id' | 'refund_id' | 'dispute_id',
  fromRow: (row: never) => Resource,
): Promise<ReadonlyMap<string, Resource>> {
  const ids = rows.flatMap((row) => row[column] ?? [])
  if (ids.length === 0) return new Map()
  const found = await tx<never[]>`
    select * from ${tx(table)}
    where tenant_id = any(${tenantsOf(rows)}::uuid[]) and id = any(${ids}::uuid[])
  `
  return new Map(found.map(fromRow).map((resource) => [nameOf(resource), resource]))
}

export const nameOf = ({ tenantId, id }: { tenantId: string; id: string | null }): string =>
  `${tenantId} ${id}`

/** By the clock of the database. */
interface AgesRow extends Pick<KeyRow, 'tenant_id' | 'id'> {
  readonly phase_age_ms: number
  readonly age_ms: number
  readonly unknown_for_seconds: number | null
}

/** Not by the statement that changes them: on Citus, that may return no function of the time. */
async function findAges(tx: Transaction, rows: readonly KeyRow[]) {
  const found = await tx<AgesRow[]>`
    select
      tenant_id, id,
      (extract(epoch from now() - phase_began_at) * 1000)::float8 as phase_age_ms,
      (extract(epoch from now() - created_at) * 1000)::float8 as age_ms,
      extract(epoch from now() - unknown_at)::float8 as unknown_for_seconds
    from idempotency_keys
    where tenant_id = any(${tenantsOf(rows)}::uuid[])
      and id = any(${rows.map(({ id }) => id)}::uuid[])
  `
  return new Map(found.map(objectOf).map((ages) => [nameOf(ages), ages]))
}

async function findFees(tx: Transaction, rows: readonly KeyRow[]) {
  const found = await tx<(FeeSchedule & { readonly id: string })[]>`
    select id, fee_basis_points as "basisPoints", fee_fixed_minor as "fixedMinor" from tenants
    where id = any(${tenantsOf(rows)}::uuid[])
  `
  return new Map(found.map(({ id, ...fees }) => [id, fees]))
}

/** Reads an operation for a caller without a lease. */
export async function readOperation(
  tx: Transaction,
  ref: OperationRef,
): Promise<OperationRow | undefined> {
  const rows = await tx<KeyRow[]>`
    select ${keyColumns(tx)} from idempotency_keys where ${isOperation(tx, ref)}
  `
  const [operation] = await joinResources(tx, rows)
  return operation
}

interface OperationState {
  readonly status: OperationStatus
  readonly recoveryPoint: string
  readonly leaseEpoch: number
  /** Why its last run reached no final state. */
  readonly lastError: string | null
}

/** Reads who may act on an operation now. */
export async function readOperationState(
  sql: Sql,
  ref: OperationRef,
): Promise<OperationState | undefined> {
  const [row] = await asTenant(sql, ref.tenantId)<OperationState[]>`
    select
      status, recovery_point as "recoveryPoint", lease_epoch as "leaseEpoch",
      last_error as "lastError"
    from idempotency_keys
    where ${isOperation(sql, ref)}
  `
  return row
}
