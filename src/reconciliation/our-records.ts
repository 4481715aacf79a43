// Finds our records that belong to records of the provider, and walks those that the provider's records do
// not explain: those of the window that a run has not compared, and those that wait for the provider. All
// are read by tenant, by page and by an index, so that neither memory nor a statement grows with their number.
import type { Fragment, Sql } from '../db/connection/client.ts'
import { firstIdAt, NO_TENANT, objectOf, type ObjectOf, type RowOf } from '../db/connection/rows.ts'
import { asService, asTenant } from '../db/connection/transaction.ts'
import { disputeFromRow } from '../db/payments/disputes.ts'
import { paymentFromRow } from '../db/payments/payments.ts'
import { refundFromRow } from '../db/payments/refunds.ts'
import type { ledgerPostings } from '../db/schema/payments.ts'
import { movementKinds, type MovementKind } from '../domain/ledger/ledger.ts'
import type { Dispute } from '../domain/payments/dispute.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { Correlation } from '../provider/payment-provider.ts'
import { isCompared } from './compared-objects.ts'
import type { Run } from './runs.ts'

/** A record of the provider, and the record of ours that it names, if it names one. */
export interface ComparedId {
  readonly objectId: string
  readonly tenantId?: string
  readonly id?: string
}

/** None for a record without an id. */
export function comparedIdsOf(
  objectId: string | null,
  correlation: Correlation | null = null,
  id: string | null = null,
): ComparedId[] {
  if (objectId === null) return []
  if (correlation === null || id === null) return [{ objectId }]
  return [{ objectId, tenantId: correlation.tenantId, id }]
}

interface Records {
  readonly payments: Payment
  readonly refunds: Refund
  readonly disputes: Dispute
}
export type Table = keyof Records

const recordFrom: { readonly [Name in Table]: (row: never) => Records[Name] } = {
  payments: paymentFromRow,
  refunds: refundFromRow,
  disputes: disputeFromRow,
}

/** In which columns a table has the provider's id of the record, and the payment. */
const columnsOf = {
  payments: { objectId: 'provider_payment_id', paymentId: 'id' },
  refunds: { objectId: 'provider_refund_id', paymentId: 'payment_id' },
  disputes: { objectId: 'provider_dispute_id', paymentId: 'payment_id' },
}

/** The records of ours that name one of the provider's, or that one of the provider's names. */
export async function findRecords<Name extends Table>(
  sql: Sql,
  table: Name,
  provider: string,
  wanted: readonly ComparedId[],
): Promise<Records[Name][]> {
  return (await findCompared<never>(sql, table, provider, wanted)).map(recordFrom[table])
}

/** What is posted of a capture, a refund or a dispute. */
export interface LedgerMovement {
  readonly kind: MovementKind
  readonly tenantId: string
  /** Our id of the payment, the refund or the dispute. */
  readonly id: string
  /** The provider's id of it; null while unknown. */
  readonly objectId: string | null
  readonly paymentId: string
  readonly refundId: string | null
  readonly disputeId: string | null
  /** The status of the payment, refund or dispute, from the same snapshot. */
  readonly status: string
  /** 0 when nothing is posted. */
  readonly amountMinor: number
  readonly currencies: readonly string[]
}

/** What is posted of the captures, refunds or disputes that name one of these records, or that one names. */
export async function findLedgerMovements(
  sql: Sql,
  provider: string,
  kind: MovementKind,
  wanted: readonly ComparedId[],
): Promise<readonly LedgerMovement[]> {
  const table = kind === 'capture' ? 'payments' : kind.startsWith('refund') ? 'refunds' : 'disputes'
  const { objectId, paymentId } = columnsOf[table]
  return await findCompared<LedgerMovement>(sql, table, provider, wanted, {
    columns: sql`
      ${kind}::text as kind, entry.tenant_id as "tenantId", entry.id,
      entry.${sql(objectId)} as "objectId", entry.${sql(paymentId)} as "paymentId",
      case when ${table === 'refunds'} then entry.id end as "refundId",
      case when ${table === 'disputes'} then entry.id end as "disputeId",
      entry.status, posted."amountMinor", posted.currencies
    `,
    joins: sql`
      cross join lateral (
        select
          coalesce(sum(amount_minor), 0)::float8 as "amountMinor",
          coalesce(array_agg(distinct currency), '{}') as currencies
        from ledger_postings
        where tenant_id = entry.tenant_id and payment_id = entry.${sql(paymentId)}
          and entry.id in (payment_id, refund_id, dispute_id)
          and kind = ${kind} and 'provider_receivable' in (debit, credit)
      ) as posted
    `,
  })
}

/** A record that names a tenant is looked up in that tenant, any other one in each tenant. */
async function findCompared<Row extends object>(
  sql: Sql,
  table: Table,
  provider: string,
  wanted: readonly ComparedId[],
  { columns = sql`entry.*`, joins = sql`` }: { columns?: Fragment; joins?: Fragment } = {},
): Promise<readonly Row[]> {
  const { objectId, paymentId } = columnsOf[table]
  // The index of payments begins with it.
  const ofProvider = table === 'payments' ? sql`and entry.provider = ${provider}` : sql``
  return await asService(sql)<Row[]>`
    with wanted as (
      select * from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as wanted (
        "objectId" text, "tenantId" uuid, id uuid
      )
    ),
    candidates (object_id, tenant_id) as (
      select "objectId", "tenantId" from wanted where "tenantId" is not null
      union all
      select "objectId", tenants.id from wanted cross join tenants where "tenantId" is null
    ),
    found as (
      select entry.tenant_id, entry.id
      from wanted
      join ${sql(table)} as entry on entry.tenant_id = "tenantId" and entry.id = wanted.id
      union
      select entry.tenant_id, entry.id
      from candidates
      join ${sql(table)} as entry
        on entry.tenant_id = candidates.tenant_id ${ofProvider}
        and entry.${sql(objectId)} = candidates.object_id
    )
    select ${columns}
    from found
    join ${sql(table)} as entry on entry.tenant_id = found.tenant_id and entry.id = found.id
    join payments
      on payments.tenant_id = entry.tenant_id and payments.id = entry.${sql(paymentId)}
    ${joins}
    where payments.provider = ${provider}
  `
}

/**
 * Payments or refunds of the window whose record at the provider was not compared. One that an operation
 * works on may have none yet: then its name is our id.
 */
export function walkMissingRecords<Name extends Table>(
  sql: Sql,
  run: RunWindow,
  table: Name,
): AsyncGenerator<Records[Name][]> {
  const objectId = sql`entry.${sql(columnsOf[table].objectId)}`
  const parts = { columns: sql`, payments.provider`, joins: ofPayment(sql) }
  return walkMissing(sql, run, {
    table,
    ...(table === 'payments' ? {} : parts),
    object: sql`
      coalesce(
        ${objectId}, case when entry.status in ('processing', 'unknown') then entry.id::text end
      )
    `,
    fromRow: recordFrom[table],
  })
}

/** The offsets of these joins make the planner look up each row, even when it estimates few. */
const ofPayment = (sql: Sql): Fragment => sql`
  cross join lateral (
    select provider, provider_payment_id, created_at from payments
    where payments.tenant_id = entry.tenant_id and payments.id = entry.payment_id
    offset 0
  ) as payments
`

/** A capture, a refund or a movement of a dispute in the ledger. */
export type MissingMovement = ObjectOf<MissingMovementRow>

type MissingMovementRow = RowOf<typeof ledgerPostings> & {
  readonly kind: MovementKind
  /** The provider's id of the payment, the refund or the dispute. */
  readonly object_id: string
  /** When the payment or the refund was requested, or the dispute opened: its money moved no earlier. */
  readonly requested_at: string
}

/** Captures, refunds and movements of disputes that were posted in the window and whose movement was not compared. */
export function walkMissingMovements(sql: Sql, run: RunWindow): AsyncGenerator<MissingMovement[]> {
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
    // As `seenMovement` names it.
    object: sql`entry.kind || ' ' || entry.object_id`,
    // The one posting of each movement that has the amount the provider moved.
    condition: sql`
      and kind = any(${movementKinds}::text[]) and 'provider_receivable' in (debit, credit)
    `,
    fromRow: (row: MissingMovementRow) => objectOf(row),
  })
}

/** The run whose window is searched for records that the provider lacks. */
type RunWindow = Pick<Run, 'id' | 'provider' | 'from' | 'to'>

interface Missing<Row, Item> {
  readonly table: Table | 'ledger_postings'
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

/** The number of rows that a statement reads. */
const PAGE_ROWS = 500

async function* walkMissing<Row, Item>(
  sql: Sql,
  { id, provider, from, to }: RunWindow,
  { table, columns = sql``, joins = sql``, object, condition = sql``, fromRow }: Missing<Row, Item>,
): AsyncGenerator<Item[]> {
  const end = firstIdAt(to.getTime() + CLOCK_SKEW_MS)
  for await (const tenantId of tenantIds(sql)) {
    let after: string | null = firstIdAt(from.getTime() - CLOCK_SKEW_MS)
    while (after !== null) {
      const pages: { last_id: string | null; unseen: Row[] }[] = await asTenant(sql, tenantId)`
        with page as (
          select entry.* ${columns}
          from ${sql(table)} as entry ${joins}
          where entry.tenant_id = ${tenantId} and entry.id > ${after} and entry.id < ${end}
          order by entry.id
          limit ${PAGE_ROWS}
        ),
        unseen as (
          select * from page as entry
          where created_at >= ${from.toISOString()} and created_at < ${to.toISOString()}
            and provider = ${provider} ${condition}
            and ${object} is not null and not ${isCompared(sql, id, object)}
        )
        select
          (select id from page order by id desc limit 1) as last_id,
          coalesce((select jsonb_agg(to_jsonb(unseen)) from unseen), '[]') as unseen
      `
      const [{ last_id, unseen } = { last_id: null, unseen: [] }] = pages
      if (unseen.length > 0) yield unseen.map(fromRow)
      after = last_id
    }
  }
}

/** The provider's ids of the records that meet the condition on `entry`, and that wait for the provider. */
export async function* walkWaiting(
  sql: Sql,
  { provider }: Pick<RunWindow, 'provider'>,
  table: Table,
  isWaiting: Fragment,
): AsyncGenerator<string> {
  const { objectId, paymentId } = columnsOf[table]
  for await (const tenantId of tenantIds(sql)) {
    let after: string | undefined = NO_TENANT
    while (after !== undefined) {
      const rows: { id: string; object_id: string }[] = await asTenant(sql, tenantId)`
        select entry.id, entry.${sql(objectId)} as object_id
        from ${sql(table)} as entry
        join payments
          on payments.tenant_id = entry.tenant_id and payments.id = entry.${sql(paymentId)}
        where entry.tenant_id = ${tenantId} and ${isWaiting} and entry.id > ${after}
          and payments.provider = ${provider}
        order by entry.id
        limit ${PAGE_ROWS}
      `
      for (const row of rows) yield row.object_id
      after = rows.at(-1)?.id
    }
  }
}

/** The ids of all tenants, one by one. */
async function* tenantIds(sql: Sql): AsyncGenerator<string> {
  let after: string | undefined = NO_TENANT
  while (after !== undefined) {
    const rows: { id: string }[] = await asService(sql)`
      select id from tenants where id > ${after} order by id limit ${PAGE_ROWS}
    `
    for (const { id } of rows) yield id
    after = rows.at(-1)?.id
  }
}
