// Finds the ledger movements of given captures, refunds and disputes.
import type { MovementKind } from '../../domain/ledger/ledger.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { asTenants } from '../connection/transaction.ts'

/** The posted amount of a capture, a refund or a dispute; 0 when nothing is posted. */
export interface LedgerMovement {
  readonly kind: MovementKind
  /** The provider's id of the captured payment, the refund or the dispute; null while unknown. */
  readonly objectId: string | null
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly disputeId: string | null
  /** The status of the payment, refund or dispute, from the same snapshot. */
  readonly status: string
  readonly amountMinor: number
  readonly currencies: readonly string[]
}

/** A capture, a refund or a movement of a dispute in the ledger. */
export interface LedgerTransactionMovement {
  readonly transactionId: string
  readonly kind: MovementKind
  readonly objectId: string
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly amountMinor: number
  readonly currency: string
  /** When the payment or the refund was requested, or the dispute opened: its money moved no earlier. */
  readonly requestedAt: Date
  readonly createdAt: Date
}

/** A payment, a refund or a dispute, by our ids. */
export interface OurRef {
  readonly tenantId: string
  readonly id: string
}

interface MovementRow {
  object_id: string | null
  tenant_id: string
  payment_id: string
  refund_id: string | null
  dispute_id: string | null
  status: string
  amount_minor: number
  currencies: string[]
}

/** The posted amounts of the captures of these payments. */
export async function findLedgerCaptures(
  sql: Sql,
  payments: readonly OurRef[],
): Promise<LedgerMovement[]> {
  const rows = await asTenants(sql, payments)<MovementRow[]>`
    select
      payments.provider_payment_id as object_id, payments.tenant_id, payments.id as payment_id,
      null::uuid as refund_id, null::uuid as dispute_id, payments.status, posted.amount_minor, posted.currencies
    from ${ourRefs(sql, payments)}
    join payments on payments.tenant_id = ours.tenant_id and payments.id = ours.id
    cross join lateral (
      select
        coalesce(sum(amount_minor), 0)::float8 as amount_minor,
        coalesce(array_agg(distinct currency), '{}') as currencies
      from ledger_postings
      where tenant_id = payments.tenant_id and payment_id = payments.id
        and kind = 'capture' and debit = 'provider_receivable'
    ) as posted
  `
  return rows.map((row) => movementFromRow(row, 'capture'))
}

/** The posted amounts of these refunds, or of their failures. */
export async function findLedgerRefunds(
  sql: Sql,
  refunds: readonly OurRef[],
  kind: 'refund' | 'refund_failure',
): Promise<LedgerMovement[]> {
  const rows = await asTenants(sql, refunds)<MovementRow[]>`
    select
      refunds.provider_refund_id as object_id, refunds.tenant_id, refunds.payment_id,
      refunds.id as refund_id, null::uuid as dispute_id, refunds.status, posted.amount_minor, posted.currencies
    from ${ourRefs(sql, refunds)}
    join refunds on refunds.tenant_id = ours.tenant_id and refunds.id = ours.id
    cross join lateral (
      select
        coalesce(sum(amount_minor), 0)::float8 as amount_minor,
        coalesce(array_agg(distinct currency), '{}') as currencies
      from ledger_postings
      where tenant_id = refunds.tenant_id and payment_id = refunds.payment_id
        and refund_id = refunds.id and kind = ${kind}
    ) as posted
  `
  return rows.map((row) => movementFromRow(row, kind))
}

/** The posted amounts of these disputes: what each took, and what it gave back. */
export async function findLedgerDisputes(
  sql: Sql,
  disputes: readonly OurRef[],
): Promise<LedgerMovement[]> {
  const rows = await asTenants(sql, disputes)<(MovementRow & Pick<LedgerMovement, 'kind'>)[]>`
    select
      disputes.provider_dispute_id as object_id, disputes.tenant_id, disputes.payment_id,
      null::uuid as refund_id, disputes.id as dispute_id, disputes.status, posted.kind,
      posted.amount_minor, posted.currencies
    from ${ourRefs(sql, disputes)}
    join disputes on disputes.tenant_id = ours.tenant_id and disputes.id = ours.id
    cross join lateral (
      select
        kind, sum(amount_minor)::float8 as amount_minor,
        array_agg(distinct currency) as currencies
      from ledger_postings
      where tenant_id = disputes.tenant_id and payment_id = disputes.payment_id
        and dispute_id = disputes.id and kind in ('dispute', 'dispute_reversal')
      group by kind
    ) as posted
  `
  return rows.map((row) => movementFromRow(row, row.kind))
}

function ourRefs(sql: Sql, refs: readonly OurRef[]): Fragment {
  const rows = refs.map(({ tenantId, id }) => ({ tenant_id: tenantId, id }))
  return sql`
    jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as ours (tenant_id uuid, id uuid)
  `
}

function movementFromRow(row: MovementRow, kind: MovementKind): LedgerMovement {
  return {
    kind,
    objectId: row.object_id,
    tenantId: row.tenant_id,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    disputeId: row.dispute_id,
    status: row.status,
    amountMinor: row.amount_minor,
    currencies: row.currencies,
  }
}
