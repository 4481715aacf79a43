// The statements that find what the ledger has booked of captures and refunds of ours.
import type { LedgerKind } from '../../domain/ledger/ledger.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { seesTenants } from '../connection/row-security.ts'

/** What is booked of a capture or a refund; no amount when nothing is. */
export interface LedgerMovement {
  /** The provider's id of the payment that was captured, or of the refund; null while we know none. */
  readonly objectId: string | null
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  /** The status of the payment, or of the refund, at the same moment. */
  readonly status: string
  readonly amountMinor: number
  readonly currencies: readonly string[]
}

/** One capture or refund in the ledger. */
export interface LedgerTransactionMovement {
  readonly transactionId: string
  readonly kind: LedgerKind
  readonly objectId: string
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly amountMinor: number
  readonly currency: string
  /** When the payment or the refund was asked for: its money has not moved before. */
  readonly askedAt: Date
  readonly createdAt: Date
}

/** A payment or a refund, by our own ids. */
export interface OurRef {
  readonly tenantId: string
  readonly id: string
}

interface BookedRow {
  object_id: string | null
  tenant_id: string
  payment_id: string
  refund_id: string | null
  status: string
  amount_minor: number
  currencies: string[]
}

/** What is booked of the captures of these payments. */
export async function findLedgerCaptures(
  sql: Sql,
  payments: readonly OurRef[],
): Promise<LedgerMovement[]> {
  const rows = await sql<BookedRow[]>`
    select
      payments.provider_payment_id as object_id, payments.tenant_id, payments.id as payment_id,
      null::uuid as refund_id, payments.status, booked.amount_minor, booked.currencies
    from ${ourRefs(sql, payments)}
    join payments on payments.tenant_id = ours.tenant_id and payments.id = ours.id
    cross join lateral (
      select
        coalesce(sum(amount_minor), 0)::float8 as amount_minor,
        coalesce(array_agg(distinct currency), '{}') as currencies
      from ledger_postings
      where tenant_id = payments.tenant_id and payment_id = payments.id
        and kind = 'capture' and debit = 'provider_receivable'
    ) as booked
    where ${seesTenants(sql, payments)}
  `
  return rows.map(bookedFromRow)
}

/** The same for refunds. */
export async function findLedgerRefunds(
  sql: Sql,
  refunds: readonly OurRef[],
): Promise<LedgerMovement[]> {
  const rows = await sql<BookedRow[]>`
    select
      refunds.provider_refund_id as object_id, refunds.tenant_id, refunds.payment_id,
      refunds.id as refund_id, refunds.status, booked.amount_minor, booked.currencies
    from ${ourRefs(sql, refunds)}
    join refunds on refunds.tenant_id = ours.tenant_id and refunds.id = ours.id
    cross join lateral (
      select
        coalesce(sum(amount_minor), 0)::float8 as amount_minor,
        coalesce(array_agg(distinct currency), '{}') as currencies
      from ledger_postings
      where tenant_id = refunds.tenant_id and payment_id = refunds.payment_id
        and refund_id = refunds.id and credit = 'provider_receivable'
    ) as booked
    where ${seesTenants(sql, refunds)}
  `
  return rows.map(bookedFromRow)
}

function ourRefs(sql: Sql, refs: readonly OurRef[]): Fragment {
  const rows = refs.map(({ tenantId, id }) => ({ tenant_id: tenantId, id }))
  return sql`
    jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as ours (tenant_id uuid, id uuid)
  `
}

function bookedFromRow(row: BookedRow): LedgerMovement {
  return {
    objectId: row.object_id,
    tenantId: row.tenant_id,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    status: row.status,
    amountMinor: row.amount_minor,
    currencies: row.currencies,
  }
}
