// Reads pages of lists, newest first. Ids are UUIDv7, so that they sort by time. One row more than
// the limit is read, to know whether more rows follow in the direction of paging.
import type { Fragment, Sql } from './client.ts'

/** At most `limit` items, after or before the item with the given id. */
export interface PageRequest {
  readonly limit: number
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
   * the tenant.
   */
  readonly entries: Fragment
  readonly fromRow: (row: Row) => Item
}

/**
 * Reads a page of a list. Undefined when no entry of this list has the cursor's id. An id of
 * another list or of another tenant is treated the same as an id that does not exist.
 */
export async function readPage<Row extends object, Item>(
  sql: Sql,
  list: List<Row, Item>,
  request: PageRequest,
): Promise<Page<Item> | undefined> {
  const cursor = request.startingAfter ?? request.endingBefore
  // Entries are never deleted, so the page and the cursor's existence need no common snapshot.
  const [rows, isCursorKnown] = await Promise.all([
    sql<Row[]>`select ${list.columns} ${list.entries} ${pageOf(sql, request)}`,
    cursor === undefined || hasEntry(sql, list.entries, cursor),
  ])
  return isCursorKnown ? toPage(rows, request, list.fromRow) : undefined
}

async function hasEntry(sql: Sql, entries: Fragment, id: string): Promise<boolean> {
  const { count } = await sql`select ${entries} and id = ${id}`
  return count > 0
}

function pageOf(sql: Sql, { limit, startingAfter, endingBefore }: PageRequest): Fragment {
  const older = startingAfter === undefined ? sql`` : sql`and id < ${startingAfter}`
  const newer = endingBefore === undefined ? sql`` : sql`and id > ${endingBefore}`
  const order = endingBefore === undefined ? sql`desc` : sql`asc`
  return sql`${older} ${newer} order by id ${order} limit ${limit + 1}`
}

function toPage<Row, Item>(
  rows: readonly Row[],
  { limit, endingBefore }: PageRequest,
  fromRow: (row: Row) => Item,
): Page<Item> {
  const items = rows.slice(0, limit).map(fromRow)
  const newestFirst = endingBefore === undefined ? items : items.toReversed()
  return { items: newestFirst, hasMore: rows.length > limit }
}
