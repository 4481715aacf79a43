// The statements on what a comparison has seen at the provider, and on what of ours it has not: a window
// is walked tenant by tenant and page by page, so that neither memory nor a statement grows with it.
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { LedgerTransactionMovement } from '../ledger/ledger-movements.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { paymentFromRow, type PaymentRow } from '../payments/payments.ts'
import type { Run } from './reconciliation-runs.ts'
import { refundFromRow, type RefundRow } from '../payments/refunds.ts'
import { seesEveryTenant, seesTenant } from '../connection/row-security.ts'

/** Notes objects as seen by a run, and returns those that were not noted yet. */
export async function recordCompared(
  sql: Sql | Transaction,
  runId: string,
  objectIds: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ object_id: string }[]>`
    insert into reconciliation_seen (run_id, object_id)
    select ${runId}::uuid, object_id from unnest(${[...new Set(objectIds)]}::text[]) as object_id
    on conflict do nothing
    returning object_id
  `
  return new Set(rows.map((row) => row.object_id))
}

/**
 * Whether a run has not seen an object. The table is filled and emptied before anybody counts its rows:
 * the offset keeps the planner, who takes it for empty, from reading all of it instead of its index.
 */
function isNotCompared(sql: Sql, runId: string, object: Fragment): Fragment {
  return sql`
    not exists (
      select from reconciliation_seen as seen
      where seen.run_id = ${runId} and seen.object_id = ${object}
      offset 0
    )
  `
}

/** Those of the objects that a run has not seen. */
export async function notComparedAmong(
  sql: Sql,
  runId: string,
  objectIds: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ object_id: string }[]>`
    select distinct object_id from unnest(${[...objectIds]}::text[]) as object_id
    where ${isNotCompared(sql, runId, sql`object_id.object_id`)}
  `
  return rows.map((row) => row.object_id)
}

const FORGET_AT_ONCE = 10_000

/** Forgets what a run has seen, a batch at a time. */
export async function deleteProgress(sql: Sql, runId: string): Promise<void> {
  for (;;) {
    const { count } = await sql`
      delete from reconciliation_seen
      where (run_id, object_id) in (
        select run_id, object_id from reconciliation_seen where run_id = ${runId}
        limit ${FORGET_AT_ONCE}
      )
    `
    if (count < FORGET_AT_ONCE) return
  }
}

/** The names under which captures and refunds are noted, beside the objects themselves. */
export const seenCapture = (providerPaymentId: string): string => `capture ${providerPaymentId}`
export const seenRefund = (providerRefundId: string): string => `refund ${providerRefundId}`
/** The name under which is noted that a run has reported an object, also when that was known before. */
export const seenReport = (objectId: string): string => `reported ${objectId}`

/** What of ours a run compares the other way round. */
type Walked = Pick<Run, 'id' | 'provider' | 'from' | 'to'>

/** Payments that were made in the window and name a record of the provider's that was not seen. */
export function walkMissingPayments(sql: Sql, run: Walked): AsyncGenerator<Payment[]> {
  return walk(sql, run, {
    table: 'payments',
    object: sql`entry.provider_payment_id`,
    condition: sql`provider = ${run.provider}`,
    fromRow: (row: PaymentRow) => paymentFromRow(row),
  })
}

/** The same for refunds. */
export function walkMissingRefunds(sql: Sql, run: Walked): AsyncGenerator<Refund[]> {
  return walk(sql, run, {
    table: 'refunds',
    object: sql`entry.provider_refund_id`,
    condition: sql`
      exists (
        select from payments
        where payments.tenant_id = entry.tenant_id and payments.id = entry.payment_id
          and payments.provider = ${run.provider}
      )
    `,
    fromRow: (row: RefundRow) => refundFromRow(row),
  })
}

interface LedgerMovementRow {
  transaction_id: string
  kind: LedgerTransactionMovement['kind']
  object_id: string
  tenant_id: string
  payment_id: string
  refund_id: string | null
  amount_minor: number
  currency: string
  asked_at: string
  created_at: string
}

/** Captures and refunds that were booked in the window and whose movement was not seen. */
export function walkMissingLedgerMovements(
  sql: Sql,
  run: Walked,
): AsyncGenerator<LedgerTransactionMovement[]> {
  // The offsets have the planner look each of them up, whatever it believes of the tables.
  const more = {
    columns: sql`,
      coalesce(refunds.provider_refund_id, payments.provider_payment_id) as object_id,
      coalesce(refunds.created_at, payments.created_at) as asked_at, payments.provider`,
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
    `,
  }
  return walk(sql, run, {
    table: 'ledger_postings',
    more,
    object: sql`entry.kind || ' ' || entry.object_id`,
    // The one row of each that says what the provider took or gave.
    condition: sql`
      provider = ${run.provider}
        and case kind when 'capture' then debit else credit end = 'provider_receivable'
    `,
    fromRow: bookedTransactionFromRow,
  })
}

function bookedTransactionFromRow(row: LedgerMovementRow): LedgerTransactionMovement {
  return {
    transactionId: row.transaction_id,
    kind: row.kind,
    objectId: row.object_id,
    tenantId: row.tenant_id,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    amountMinor: row.amount_minor,
    currency: row.currency,
    askedAt: new Date(row.asked_at),
    createdAt: new Date(row.created_at),
  }
}

interface Walk<Row, Item> {
  readonly table: 'payments' | 'refunds' | 'ledger_postings'
  /** More columns, and where they come from. */
  readonly more?: { readonly columns: Fragment; readonly joins: Fragment }
  /** The name under which `entry` would have been noted; null when it names nothing of the provider's. */
  readonly object: Fragment
  readonly condition: Fragment
  readonly fromRow: (row: Row) => Item
}

/** How many rows a statement goes through, seen or not. */
const ROWS_AT_ONCE = 500

/**
 * Ids are UUIDv7 and in order of time, so that the primary key serves the window. They are made by the
 * clocks of the processes, which may be off by that much.
 */
const CLOCKS_APART_MS = 60 * 60 * 1_000

async function* walk<Row, Item>(
  sql: Sql,
  run: Walked,
  { table, more, object, condition, fromRow }: Walk<Row, Item>,
): AsyncGenerator<Item[]> {
  const end = firstIdAt(run.to.getTime() + CLOCKS_APART_MS)
  for await (const tenantId of tenantIds(sql)) {
    let after: string | null = firstIdAt(run.from.getTime() - CLOCKS_APART_MS)
    while (after !== null) {
      const [page]: { last_id: string | null; unseen: Row[] }[] = await sql`
        with page as (
          select entry.* ${more?.columns ?? sql``}
          from ${sql(table)} as entry ${more?.joins ?? sql``}
          where entry.tenant_id = ${tenantId} and entry.id > ${after} and entry.id < ${end}
          order by entry.id
          limit ${ROWS_AT_ONCE}
        ),
        unseen as (
          select * from page as entry
          where created_at >= ${run.from.toISOString()} and created_at < ${run.to.toISOString()}
            and ${condition} and ${object} is not null and ${isNotCompared(sql, run.id, object)}
        )
        select
          (select id from page order by id desc limit 1) as last_id,
          coalesce((select jsonb_agg(to_jsonb(unseen)) from unseen), '[]') as unseen
        where ${seesTenant(sql, tenantId)}
      `
      after = page?.last_id ?? null
      if (page !== undefined && page.unseen.length > 0) yield page.unseen.map(fromRow)
    }
  }
}

async function* tenantIds(sql: Sql): AsyncGenerator<string> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const rows = await sql<{ id: string }[]>`
      select id from tenants where ${seesEveryTenant(sql)} and id > ${after}
      order by id limit ${ROWS_AT_ONCE}
    `
    for (const { id } of rows) yield id
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** What every UUIDv7 of that moment, in milliseconds since 1970, comes after. */
function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
