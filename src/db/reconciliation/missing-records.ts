// Walks our records that the provider's do not explain: those of the window that a reconciliation run
// has not compared, and those whose end at the provider causes no movement. It reads them by tenant and
// by page, so that neither memory nor a statement grows with their number.
import { movementKinds } from '../../domain/ledger/ledger.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { LedgerTransactionMovement } from '../ledger/ledger-movements.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { asService, asTenant } from '../connection/transaction.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import type { ledgerPostings } from '../schema/ledger-postings.ts'
import { type RowOf, firstIdAt, NO_TENANT } from '../connection/rows.ts'
import { type Run, isNotCompared } from './reconciliation-runs.ts'

/** The run whose window is searched for records that the provider lacks. */
type RunWindow = Pick<Run, 'id' | 'provider' | 'from' | 'to'>

/**
 * Payments of the window whose record at the provider was not compared. One that an operation works
 * on may have none yet.
 */
export function walkMissingPayments(sql: Sql, run: RunWindow): AsyncGenerator<Payment[]> {
  return walkMissing(sql, run, {
    table: 'payments',
    object: objectOrOurs(sql, sql`entry.provider_payment_id`),
    fromRow: (row: PaymentRow) => paymentFromRow(row),
  })
}

/** Refunds of the window whose record at the provider was not compared, as for payments. */
export function walkMissingRefunds(sql: Sql, run: RunWindow): AsyncGenerator<Refund[]> {
  return walkMissing(sql, run, {
    table: 'refunds',
    columns: sql`, payments.provider`,
    joins: ofPayment(sql),
    object: objectOrOurs(sql, sql`entry.provider_refund_id`),
    fromRow: (row: RefundRow) => refundFromRow(row),
  })
}

/** The provider's id, or ours while an operation works on the record and does not know it yet. */
function objectOrOurs(sql: Sql, object: Fragment): Fragment {
  return sql`
    coalesce(${object}, case when entry.status in ('processing', 'unknown') then entry.id::text end)
  `
}

/** The offsets of these joins make the planner look up each row, even when it estimates few. */
const ofPayment = (sql: Sql): Fragment => sql`
  cross join lateral (
    select provider, provider_payment_id, created_at from payments
    where payments.tenant_id = entry.tenant_id and payments.id = entry.payment_id
    offset 0
  ) as payments
`

type LedgerMovementRow = RowOf<typeof ledgerPostings> &
  Pick<LedgerTransactionMovement, 'kind'> & {
    readonly object_id: string
    readonly requested_at: string
  }

/** Captures, refunds and movements of disputes that were posted in the window and whose movement was not compared. */
export function walkMissingLedgerMovements(
  sql: Sql,
  run: RunWindow,
): AsyncGenerator<LedgerTransactionMovement[]> {
  return walkMissing(sql, run, {
    table: 'ledger_postings',
    columns: sql`,
      coalesce(
        disputes.provider_dispute_id, refunds.provider_refund_id, payments.provider_payment_id
      ) as object_id,
      coalesce(disputes.opened_at, refunds.created_at, payments.created_at) as requested_at,
      payments.provider`,
    joins: sql`
      ${ofPayment(sql)}
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
    object: sql`entry.kind || ' ' || entry.object_id`,
    // The one posting of each movement that has the amount the provider moved.
    condition: sql`
      and kind = any(${movementKinds}::text[])
      and case when kind in ('refund', 'dispute') then credit else debit end = 'provider_receivable'
    `,
    fromRow: (row: LedgerMovementRow) => ({
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
    }),
  })
}

interface Missing<Row, Item> {
  readonly table: 'payments' | 'refunds' | 'ledger_postings'
  /** Additional columns, and their joins. One of the columns is `provider`. */
  readonly columns?: Fragment
  readonly joins?: Fragment
  /**
   * The name under which `entry` would have been recorded; null when it names no object of the
   * provider.
   */
  readonly object: Fragment
  readonly condition?: Fragment
  readonly fromRow: (row: Row) => Item
}

/**
 * Ids are UUIDv7 and sort by time, so that the primary key serves the window. The clocks of the
 * processes that generate them may differ by this much.
 */
const CLOCK_SKEW_MS = 60 * 60 * 1_000

function walkMissing<Row, Item>(
  sql: Sql,
  run: RunWindow,
  { table, columns = sql``, joins = sql``, object, condition = sql``, fromRow }: Missing<Row, Item>,
): AsyncGenerator<Item[]> {
  const first = firstIdAt(run.from.getTime() - CLOCK_SKEW_MS)
  const end = firstIdAt(run.to.getTime() + CLOCK_SKEW_MS)
  return walk(sql, first, async (tenantId, after) => {
    const [page] = await asTenant(sql, tenantId)<{ last_id: string | null; unseen: Row[] }[]>`
      with page as (
        select entry.* ${columns}
        from ${sql(table)} as entry ${joins}
        where entry.tenant_id = ${tenantId} and entry.id > ${after} and entry.id < ${end}
        order by entry.id
        limit ${PAGE_ROWS}
      ),
      unseen as (
        select * from page as entry
        where created_at >= ${run.from.toISOString()} and created_at < ${run.to.toISOString()}
          and provider = ${run.provider} ${condition}
          and ${object} is not null and ${isNotCompared(sql, run.id, object)}
      )
      select
        (select id from page order by id desc limit 1) as last_id,
        coalesce((select jsonb_agg(to_jsonb(unseen)) from unseen), '[]') as unseen
    `
    return { items: page?.unseen.map(fromRow) ?? [], last: page?.last_id ?? undefined }
  })
}

/** The provider's ids of refunds from before the window that wait for the provider. */
export function walkWaitingRefunds(
  sql: Sql,
  run: Pick<RunWindow, 'provider' | 'from'>,
): AsyncGenerator<string[]> {
  const waits = sql`
    entry.status in ('pending', 'requires_action') and entry.provider_refund_id is not null
      and entry.created_at < ${run.from.toISOString()}
  `
  return walkOpen(sql, run, 'refunds', 'provider_refund_id', waits)
}

/** The provider's ids of disputes that are not closed. */
export function walkOpenDisputes(
  sql: Sql,
  run: Pick<RunWindow, 'provider'>,
): AsyncGenerator<string[]> {
  const isOpen = sql`entry.status not in ('warning_closed', 'won', 'lost', 'prevented')`
  return walkOpen(sql, run, 'disputes', 'provider_dispute_id', isOpen)
}

function walkOpen(
  sql: Sql,
  { provider }: Pick<RunWindow, 'provider'>,
  table: 'refunds' | 'disputes',
  objectId: string,
  isOpen: Fragment,
): AsyncGenerator<string[]> {
  return walk(sql, firstIdAt(0), async (tenantId, after) => {
    const rows = await asTenant(sql, tenantId)<{ id: string; objectId: string }[]>`
      select entry.id, entry.${sql(objectId)} as "objectId"
      from ${sql(table)} as entry
      join payments on payments.tenant_id = entry.tenant_id and payments.id = entry.payment_id
      where entry.tenant_id = ${tenantId} and ${isOpen} and entry.id > ${after}
        and payments.provider = ${provider}
      order by entry.id
      limit ${PAGE_ROWS}
    `
    return { items: rows.map((row) => row.objectId), last: rows.at(-1)?.id }
  })
}

/** The number of rows that a statement reads. */
const PAGE_ROWS = 500

/** Reads the pages of each tenant, each after the last id of the page before. */
async function* walk<Item>(
  sql: Sql,
  first: string,
  readAfter: (
    tenantId: string,
    after: string,
  ) => Promise<{ items: Item[]; last?: string | undefined }>,
): AsyncGenerator<Item[]> {
  for await (const tenantId of tenantIds(sql)) {
    let after: string | undefined = first
    while (after !== undefined) {
      const page: Awaited<ReturnType<typeof readAfter>> = await readAfter(tenantId, after)
      if (page.items.length > 0) yield page.items
      after = page.last
    }
  }
}

/** The ids of all tenants, one by one. */
export async function* tenantIds(sql: Sql): AsyncGenerator<string> {
  let after: string | undefined = NO_TENANT
  while (after !== undefined) {
    const rows: { id: string }[] = await asService(sql)`
      select id from tenants where id > ${after} order by id limit ${PAGE_ROWS}
    `
    for (const { id } of rows) yield id
    after = rows.at(-1)?.id
  }
}
