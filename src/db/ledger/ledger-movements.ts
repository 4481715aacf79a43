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

type MovementRow = Omit<LedgerMovement, 'kind'>

/** The posted amounts of the captures of these payments. */
export async function findLedgerCaptures(
  sql: Sql,
  payments: readonly OurRef[],
): Promise<LedgerMovement[]> {
  const rows = await asTenants(sql, payments)<MovementRow[]>`
    select
      payments.provider_payment_id as "objectId", payments.tenant_id as "tenantId",
      payments.id as "paymentId", null as "refundId", null as "disputeId", payments.status,
      posted."amountMinor", posted.currencies
    from ${ourRefs(sql, payments)}
    join payments on payments.tenant_id = ours.tenant_id and payments.id = ours.id
    cross join lateral (
      select
        coalesce(sum(amount_minor), 0)::float8 as "amountMinor",
        coalesce(array_agg(distinct currency), '{}') as currencies
      from ledger_postings
      where tenant_id = payments.tenant_id and payment_id = payments.id
        and kind = 'capture' and debit = 'provider_receivable'
    ) as posted
  `
  return rows.map((row) => ({ ...row, kind: 'capture' }))
}

/** The posted amounts of these refunds, or of their failures. */
export async function findLedgerRefunds(
  sql: Sql,
  refunds: readonly OurRef[],
  kind: 'refund' | 'refund_failure',
): Promise<LedgerMovement[]> {
  const rows = await asTenants(sql, refunds)<MovementRow[]>`
    select
      refunds.provider_refund_id as "objectId", refunds.tenant_id as "tenantId",
      refunds.payment_id as "paymentId", refunds.id as "refundId", null as "disputeId",
      refunds.status, posted."amountMinor", posted.currencies
    from ${ourRefs(sql, refunds)}
    join refunds on refunds.tenant_id = ours.tenant_id and refunds.id = ours.id
    cross join lateral (
      select
        coalesce(sum(amount_minor), 0)::float8 as "amountMinor",
        coalesce(array_agg(distinct currency), '{}') as currencies
      from ledger_postings
      where tenant_id = refunds.tenant_id and payment_id = refunds.payment_id
        and refund_id = refunds.id and kind = ${kind}
    ) as posted
  `
  return rows.map((row) => ({ ...row, kind }))
}

/** The posted amounts of these disputes: what each took, and what it gave back. */
export async function findLedgerDisputes(
  sql: Sql,
  disputes: readonly OurRef[],
): Promise<LedgerMovement[]> {
  return await asTenants(sql, disputes)<LedgerMovement[]>`
    select
      disputes.provider_dispute_id as "objectId", disputes.tenant_id as "tenantId",
      disputes.payment_id as "paymentId", null as "refundId", disputes.id as "disputeId",
      disputes.status, posted.kind, posted."amountMinor", posted.currencies
    from ${ourRefs(sql, disputes)}
    join disputes on disputes.tenant_id = ours.tenant_id and disputes.id = ours.id
    cross join lateral (
      select
        kind, sum(amount_minor)::float8 as "amountMinor",
        array_agg(distinct currency) as currencies
      from ledger_postings
      where tenant_id = disputes.tenant_id and payment_id = disputes.payment_id
        and dispute_id = disputes.id and kind in ('dispute', 'dispute_reversal')
      group by kind
    ) as posted
  `
}

function ourRefs(sql: Sql, refs: readonly OurRef[]): Fragment {
  const rows = refs.map(({ tenantId, id }) => ({ tenant_id: tenantId, id }))
  return sql`
    jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as ours (tenant_id uuid, id uuid)
  `
}
