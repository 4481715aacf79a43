// Finds our records that a reconciliation run has not compared with the provider's. It reads the
// window by tenant and by page, so that neither memory nor a statement grows with the window.
import { movementKinds } from '../../domain/ledger/ledger.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { LedgerTransactionMovement } from '../ledger/ledger-movements.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { firstIdAt } from '../connection/ids.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { isNotCompared } from './reconciliation-progress.ts'
import type { Run } from './reconciliation-runs.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { asService, asTenant } from '../connection/transaction.ts'
import type { ledgerPostings } from '../schema/ledger-postings.ts'
import type { RowOf } from '../schema/row-of.ts'

/** The run whose window is searched for records that the provider lacks. */
export type RunWindow = Pick<Run, 'id' | 'provider' | 'from' | 'to'>

/**
 * Payments of the window whose record at the provider was not compared. One that an operation works
 * on may have none yet.
 */
export function walkMissingPayments(sql: Sql, run: RunWindow): AsyncGenerator<Payment[]> {
  return walk(sql, run, {
    table: 'payments',
    object: objectOrOurs(sql, sql`entry.provider_payment_id`),
    condition: sql`provider = ${run.provider}`,
    fromRow: (row: PaymentRow) => paymentFromRow(row),
  })
}

/** Refunds of the window whose record at the provider was not compared, as for payments. */
export function walkMissingRefunds(sql: Sql, run: RunWindow): AsyncGenerator<Refund[]> {
  return walk(sql, run, {
    table: 'refunds',
    object: objectOrOurs(sql, sql`entry.provider_refund_id`),
    more: {
      columns: sql`, payments.provider`,
      joins: sql`
        cross join lateral (
          select provider from payments
          where payments.tenant_id = entry.tenant_id and payments.id = entry.payment_id
          offset 0
        ) as payments
      `,
    },
    condition: sql`provider = ${run.provider}`,
    fromRow: (row: RefundRow) => refundFromRow(row),
  })
}

/** The provider's id, or ours while an operation works on the record and does not know it yet. */
function objectOrOurs(sql: Sql, object: Fragment): Fragment {
  return sql`
    coalesce(${object}, case when entry.status in ('processing', 'unknown') then entry.id::text end)
  `
}

type LedgerMovementRow = RowOf<typeof ledgerPostings> & {
  readonly kind: LedgerTransactionMovement['kind']
  readonly object_id: string
  readonly requested_at: string
}

/** Captures, refunds and movements of disputes that were posted in the window and whose movement was not compared. */
export function walkMissingLedgerMovements(
  sql: Sql,
  run: RunWindow,
): AsyncGenerator<LedgerTransactionMovement[]> {
  // The offsets make the planner look up each row, even when it estimates few.
  const more = {
    columns: sql`,
      coalesce(
        disputes.provider_dispute_id, refunds.provider_refund_id, payments.provider_payment_id
      ) as object_id,
      coalesce(disputes.opened_at, refunds.created_at, payments.created_at) as requested_at,
      payments.provider`,
    joins: sql`
      cross join lateral (
        select provider, provider_payment_id, created_at from payments
        where payments.tenant_id = entry.tenant_id and payments.id = entry.payment_id
        offset 0
      ) as payments
      left join lateral (
        select provider_refund_id, created_at from refunds
        where refunds.tenant_id = entry.tenant_id and refunds.id = entry.refund_id
        offset 0
      ) as refunds on true
      left join lateral (
        select provider_dispute_id, opened_at from disputes
        where disputes.tenant_id = entry.tenant_id and disputes.id = entry.dispute_id
        offset 0
      ) as disputes on true
    `,
  }
  return walk(sql, run, {
    table: 'ledger_postings',
    more,
    object: sql`entry.kind || ' ' || entry.object_id`,
    // The one posting of each movement that has the amount the provider moved.
    condition: sql`
      provider = ${run.provider} and kind = any(${movementKinds}::text[])
        and case when kind in ('refund', 'dispute') then credit else debit end
          = 'provider_receivable'
    `,
    fromRow: movementFromRow,
  })
}

function movementFromRow(row: LedgerMovementRow): LedgerTransactionMovement {
  return {
    transactionId: row.transaction_id,
    kind: row.kind,
    objectId: row.object_id,
    tenantId: row.tenant_id,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    amountMinor: row.amount_minor,
    currency: row.currency,
    requestedAt: new Date(row.requested_at),
    createdAt: new Date(row.created_at),
  }
}

interface Walk<Row, Item> {
  readonly table: 'payments' | 'refunds' | 'ledger_postings'
  /** Additional columns, and their joins. */
  readonly more?: { readonly columns: Fragment; readonly joins: Fragment }
  /**
   * The name under which `entry` would have been recorded; null when it names no object of the
   * provider.
   */
  readonly object: Fragment
  readonly condition: Fragment
  readonly fromRow: (row: Row) => Item
}

/** The number of rows that a statement reads. */
export const PAGE_ROWS = 500

/**
 * Ids are UUIDv7 and sort by time, so that the primary key serves the window. The clocks of the
 * processes that generate them may differ by this much.
 */
const CLOCK_SKEW_MS = 60 * 60 * 1_000

async function* walk<Row, Item>(
  sql: Sql,
  run: RunWindow,
  { table, more, object, condition, fromRow }: Walk<Row, Item>,
): AsyncGenerator<Item[]> {
  const end = firstIdAt(run.to.getTime() + CLOCK_SKEW_MS)
  for await (const tenantId of tenantIds(sql)) {
    let after: string | null = firstIdAt(run.from.getTime() - CLOCK_SKEW_MS)
    while (after !== null) {
      const [page]: { last_id: string | null; unseen: Row[] }[] = await asTenant(sql, tenantId)`
        with page as (
          select entry.* ${more?.columns ?? sql``}
          from ${sql(table)} as entry ${more?.joins ?? sql``}
          where entry.tenant_id = ${tenantId} and entry.id > ${after} and entry.id < ${end}
          order by entry.id
          limit ${PAGE_ROWS}
        ),
        unseen as (
          select * from page as entry
          where created_at >= ${run.from.toISOString()} and created_at < ${run.to.toISOString()}
            and ${condition} and ${object} is not null and ${isNotCompared(sql, run.id, object)}
        )
        select
          (select id from page order by id desc limit 1) as last_id,
          coalesce((select jsonb_agg(to_jsonb(unseen)) from unseen), '[]') as unseen
      `
      after = page?.last_id ?? null
      if (page !== undefined && page.unseen.length > 0) yield page.unseen.map(fromRow)
    }
  }
}

/** The ids of all tenants, one by one. */
export async function* tenantIds(sql: Sql): AsyncGenerator<string> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const rows = await asService(sql)<{ id: string }[]>`
      select id from tenants where id > ${after} order by id limit ${PAGE_ROWS}
    `
    for (const { id } of rows) yield id
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
}
