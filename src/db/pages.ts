// Pages of lists, newest first: ids are UUIDv7, so that the primary key is in order of time. One row
// more than the limit is read, to know whether there are more in the direction of the paging.
import type { Fragment, Sql } from './client.ts'

/** At most `limit` items, after or before the one with the given id. */
export interface PageRequest {
  readonly limit: number
  readonly startingAfter?: string
  readonly endingBefore?: string
}

export interface Page<Item> {
  readonly items: readonly Item[]
  readonly hasMore: boolean
}

/** The end of a statement that reads a page of a table with the column `id`, from `and` on. */
export function pageOf(sql: Sql, { limit, startingAfter, endingBefore }: PageRequest): Fragment {
  const older = startingAfter === undefined ? sql`` : sql`and id < ${startingAfter}`
  const newer = endingBefore === undefined ? sql`` : sql`and id > ${endingBefore}`
  const order = endingBefore === undefined ? sql`desc` : sql`asc`
  return sql`${older} ${newer} order by id ${order} limit ${limit + 1}`
}

/** The page out of the rows that such a statement has read. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  { limit, endingBefore }: PageRequest,
  fromRow: (row: Row) => Item,
): Page<Item> {
  const items = rows.slice(0, limit).map(fromRow)
  const newestFirst = endingBefore === undefined ? items : items.toReversed()
  return { items: newestFirst, hasMore: rows.length > limit }
}
