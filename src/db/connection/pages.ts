// Reads pages of lists, newest first. Ids are UUIDv7, so that they sort by time. One row more than
// the limit is read, to know whether more rows follow in the direction of paging. An ordered list shows
// an entry only when no earlier one can still appear.
import type { Fragment, Sql } from './client.ts'
import { NO_TENANT } from './ids.ts'
import { seesEveryTenant, seesTenant } from './row-security.ts'

/** At most `limit` items, after or before the item with the given id. */
export interface PageRequest {
  readonly limit: number
  /** Reads the oldest items instead of the newest. They are newest first, too. */
  readonly oldest?: boolean
  readonly startingAfter?: string
  readonly endingBefore?: string
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly hasMore: boolean
}

/** The statement parts of a list. */
export interface List<Row, Item> {
  /** The select list. */
  readonly columns: Fragment
  /**
   * The statement from `from` on: a table or a query with the column `id`, and conditions that name
   * the tenant. A cursor is the id of one of these entries.
   */
  readonly entries: Fragment
  /**
   * Further conditions, each with its `and`. An entry can stop to meet them between two pages, and is
   * a cursor all the same.
   */
  readonly filters?: Fragment
  /** Like `entries`, to look up a cursor: for entries that have no index by `id` alone. */
  readonly cursors?: Fragment
  readonly fromRow: (row: Row) => Item
  /** For a list whose ids are made by `nextId`. */
  readonly ordered?: Ordered
}

/** Where the newest id of an ordered list is found. */
interface Ordered {
  readonly table: 'events' | 'webhook_deliveries' | 'ledger_postings' | 'admin_actions'
  /** `id` by default. */
  readonly column?: 'id' | 'transaction_id'
  /** Absent if the list belongs to no tenant. */
  readonly tenantId?: string
}

/**
 * Reads a page of a list. Undefined when no entry of this list has the cursor's id, whether or not
 * the entry meets the filters. An id of another list or of another tenant is treated the same as an
 * id that does not exist.
 */
export async function readPage<Row extends object, Item>(
  sql: Sql,
  list: List<Row, Item>,
  request: PageRequest,
): Promise<Page<Item> | undefined> {
  const cursor = request.startingAfter ?? request.endingBefore
  const { columns, entries, filters = sql``, cursors = entries, ordered } = list
  // What is older than a cursor was final when the cursor was shown.
  const isLimited = ordered !== undefined && request.startingAfter === undefined
  const newest = isLimited ? await findNewestFinal(sql, ordered) : null
  const final = isLimited ? sql`and id <= ${newest}::uuid` : sql``
  // Entries are never deleted, so the page and the cursor's existence need no common snapshot.
  const [rows, isCursorKnown] = await Promise.all([
    sql<Row[]>`select ${columns} ${entries} ${filters} ${final} ${pageOf(sql, request)}`,
    cursor === undefined || hasEntry(sql, cursors, cursor),
  ])
  return isCursorKnown ? toPage(rows, request, list.fromRow) : undefined
}

/**
 * The id up to which no further entries can appear; null if there are none. The order matters: first
 * the newest entry that is visible, then the transactions in flight. The page is a statement of its own,
 * after both, so that it sees what has been committed meanwhile.
 */
async function findNewestFinal(
  sql: Sql,
  { table, column = 'id', tenantId }: Ordered,
): Promise<string | null> {
  const [first, sees] =
    tenantId === undefined
      ? [sql`true`, sql`true`]
      : [sql`tenant_id = ${tenantId}`, seesTenant(sql, tenantId)]
  const [row] = await sql<{ id: string }[]>`
    with newest as materialized (
      select ${sql(column)} as id from ${sql(table)} where ${first}
      order by ${sql(column)} desc limit 1
    )
    select least(newest.id, first_id_in_flight(${tenantId ?? NO_TENANT}::uuid)) as id
    from newest where ${sees}
  `
  return row?.id ?? null
}

async function hasEntry(sql: Sql, entries: Fragment, id: string): Promise<boolean> {
  const { count } = await sql`select ${entries} and id = ${id}`
  return count > 0
}

/**
 * The conditions of a page on the id, each with its `and`; then its order, by the column `id` of the
 * result, and its limit.
 */
export function pageOf(sql: Sql, request: PageRequest, id: Fragment = sql`id`): Fragment {
  const { startingAfter, endingBefore } = request
  const older = startingAfter === undefined ? sql`` : sql`and ${id} < ${startingAfter}`
  const newer = endingBefore === undefined ? sql`` : sql`and ${id} > ${endingBefore}`
  return sql`${older} ${newer} ${firstOf(sql, request)}`
}

function firstOf(sql: Sql, request: PageRequest): Fragment {
  const order = isAscending(request) ? sql`asc` : sql`desc`
  return sql`order by id ${order} limit ${request.limit + 1}`
}

export const isAscending = ({ endingBefore, oldest }: PageRequest): boolean =>
  endingBefore !== undefined || oldest === true

/** Makes a page of the rows in any order: Citus returns them so. */
export function toSortedPage<Row extends { readonly id: string }, Item>(
  rows: readonly Row[],
  request: PageRequest,
  fromRow: (row: Row) => Item,
): Page<Item> {
  const direction = isAscending(request) ? 1 : -1
  const sorted = rows.toSorted((one, other) => (one.id < other.id ? -direction : direction))
  return toPage(sorted, request, fromRow)
}

function toPage<Row, Item>(
  rows: readonly Row[],
  request: PageRequest,
  fromRow: (row: Row) => Item,
): Page<Item> {
  const items = rows.slice(0, request.limit).map(fromRow)
  const newestFirst = isAscending(request) ? items.toReversed() : items
  return { items: newestFirst, hasMore: rows.length > request.limit }
}

/** The statement parts of a list of all tenants, of a table with the primary key (tenant_id, id). */
export interface ListOfTenants<Row, Item> {
  readonly table: string
  /** The select list. It names the table `entry`. */
  readonly columns: Fragment
  /** Further conditions on `entry`, each with its `and`. */
  readonly conditions: Fragment
  readonly fromRow: (row: Row) => Item
  /** For a list whose ids are made by `nextId`. */
  readonly isOrdered?: true
}

/**
 * Reads a page of a list of all tenants, or of one. The primary key gives the newest entries of each
 * tenant, of which the newest are the page: there are far fewer tenants than entries. Undefined when
 * no entry of these tenants has the cursor's id, whether or not it meets the conditions.
 */
export async function readPageOfTenants<Row extends { readonly id: string }, Item>(
  sql: Sql,
  list: ListOfTenants<Row, Item>,
  tenantId: string | undefined,
  request: PageRequest,
): Promise<Page<Item> | undefined> {
  const cursor = request.startingAfter ?? request.endingBefore
  const isLimited = list.isOrdered === true && request.startingAfter === undefined
  const final = isLimited ? await limitToFinal(sql, list) : list
  const [rows, isCursorKnown] = await Promise.all([
    selectPageOfTenants(sql, final, tenantId, request),
    cursor === undefined || hasEntryOfTenants(sql, list.table, tenantId, cursor),
  ])
  return isCursorKnown ? toSortedPage(rows, request, list.fromRow) : undefined
}

/** Leaves out what is newer than an entry that can still appear, in the list of any tenant. */
async function limitToFinal<Row, Item>(
  sql: Sql,
  list: ListOfTenants<Row, Item>,
): Promise<ListOfTenants<Row, Item>> {
  const [next] = await sql<{ id: string }[]>`select first_id_in_flight(null) as id`
  if (next === undefined) throw new Error('a select of one row returned none')
  return { ...list, conditions: sql`${list.conditions} and entry.id <= ${next.id}` }
}

function selectPageOfTenants<Row extends { readonly id: string }, Item>(
  sql: Sql,
  { table, columns, conditions }: ListOfTenants<Row, Item>,
  tenantId: string | undefined,
  request: PageRequest,
) {
  return sql<Row[]>`
    with tenant (owner) as (${selectTenants(sql, tenantId)}),
    newest (owner, named) as (
      select owner, found.id
      from tenant cross join lateral (
        select entry.id from ${sql(table)} as entry
        where entry.tenant_id = owner ${conditions} ${pageOf(sql, request)}
      ) as found
      ${firstOf(sql, request)}
    )
    select ${columns}
    from newest
    join ${sql(table)} as entry on entry.tenant_id = owner and entry.id = named
    where ${seesEveryTenant(sql)}
  `
}

async function hasEntryOfTenants(
  sql: Sql,
  table: string,
  tenantId: string | undefined,
  id: string,
): Promise<boolean> {
  const { count } = await sql`
    with tenant (owner) as (${selectTenants(sql, tenantId)})
    select entry.id
    from tenant
    join ${sql(table)} as entry on entry.tenant_id = owner and entry.id = ${id}
    where ${seesEveryTenant(sql)}
  `
  return count > 0
}

const selectTenants = (sql: Sql, tenantId: string | undefined): Fragment =>
  sql`select id from tenants ${tenantId === undefined ? sql`` : sql`where id = ${tenantId}`}`
