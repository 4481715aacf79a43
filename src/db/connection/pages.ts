// Reads pages of lists, newest first. Ids are UUIDv7, so that they sort by time. One row more than
// the limit is read, to know whether more rows follow in the direction of paging.
import type { Fragment, Sql } from './client.ts'
import { seesEveryTenant } from './row-security.ts'

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
  // Entries are never deleted, so the page and the cursor's existence need no common snapshot.
  const { columns, entries, filters = sql``, cursors = entries } = list
  const [rows, isCursorKnown] = await Promise.all([
    sql<Row[]>`select ${columns} ${entries} ${filters} ${pageOf(sql, request)}`,
    cursor === undefined || hasEntry(sql, cursors, cursor),
  ])
  return isCursorKnown ? toPage(rows, request, list.fromRow) : undefined
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
  const [rows, isCursorKnown] = await Promise.all([
    selectPageOfTenants(sql, list, tenantId, request),
    cursor === undefined || hasEntryOfTenants(sql, list.table, tenantId, cursor),
  ])
  return isCursorKnown ? toSortedPage(rows, request, list.fromRow) : undefined
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
