// Reads lists: entries by their id, and pages, newest first. Ids are UUIDv7, so that they sort by time. One
// row more than the limit is read, to know whether more rows follow in the direction of paging. An ordered
// list shows an entry only when no earlier one can still appear.
import type { Fragment, Sql, Transaction } from './client.ts'
import { objectsOf, NO_TENANT } from './rows.ts'
import { asService, asTenant, inService, inTenant, together } from './transaction.ts'

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

/** The statement parts of a list. Of its two forms, most lists have the first: the rows of a table. */
export type List<Row, Item> = {
  /** The select list; by default all columns. */
  readonly columns?: Fragment
  /**
   * Further conditions, each with its `and`. An entry can stop to meet them between two pages, and is
   * a cursor all the same.
   */
  readonly filters?: Fragment
  /** Like `entries`, to look up a cursor: for entries that have no index by `id` alone. */
  readonly cursors?: Fragment
  /** By default the item has the columns of the select list: see `objectsOf`. */
  readonly fromRow?: (row: Row) => Item
  /** Where the newest id of a list is found whose ids are made by `nextId`. */
  readonly ordered?: Ordered
} & (
  | {
      /** Its rows are named `entry`. Those of a tenant's list are the tenant's. */
      readonly table: string
      /** Conditions on the entries, each with its `and`. A cursor has to meet them. */
      readonly where?: Fragment
    }
  | {
      /**
       * The statement from `from` on: a query with the column `id`, and conditions that name the
       * tenant. A cursor is the id of one of these entries.
       */
      readonly entries: Fragment
    }
)

interface Ordered {
  readonly table: 'events' | 'webhook_deliveries' | 'ledger_postings' | 'admin_actions'
  /** `id` by default. */
  readonly column?: 'id' | 'transaction_id'
}

/** The tenant of a list; null for one of all tenants, undefined for one that belongs to no tenant. */
export type Owner = string | null | undefined

/** Reads a page of a list, with the rights on its rows. Undefined as from `readPage`. */
export function listOf<Item, Row extends object = never>(
  sql: Sql,
  owner: Owner,
  list: List<Row, Item>,
  request: PageRequest,
): Promise<Page<Item> | undefined> {
  const read = (tx: Transaction) => readPage(tx, list, request, owner)
  return typeof owner === 'string' ? inTenant(sql, owner, read) : inService(sql, read)
}

/**
 * Reads a page of a list. Undefined when no entry of this list has the cursor's id, whether or not
 * the entry meets the filters. An id of another list or of another tenant is treated the same as an
 * id that does not exist.
 */
export async function readPage<Item, Row extends object = never>(
  sql: Transaction,
  list: List<Row, Item>,
  request: PageRequest,
  owner?: Owner,
): Promise<Page<Item> | undefined> {
  const cursor = request.startingAfter ?? request.endingBefore
  const { columns = sql`*`, filters = sql``, ordered } = list
  const entries = entriesOf(sql, list, owner)
  // What is older than a cursor was final when the cursor was shown.
  const isLimited = ordered !== undefined && request.startingAfter === undefined
  const newest = isLimited ? await findNewestFinal(sql, ordered, owner) : null
  const final = isLimited ? sql`and id <= ${newest}::uuid` : sql``
  // Entries are never deleted, so the page and the cursor's existence need no common snapshot.
  const readRows = async () =>
    await sql<Row[]>`select ${columns} ${entries} ${filters} ${final} ${pageOf(sql, request)}`
  const [rows, isCursorKnown] = await together([
    readRows(),
    hasEntry(sql, list.cursors ?? entries, cursor),
  ])
  if (!isCursorKnown) return undefined
  return toPage(itemsOf(list, rows), request)
}

/** Finds the entry of a list with these values in its columns. Its filters have to be met. */
export async function findIn<Item, Row extends object = never>(
  sql: Sql | Transaction,
  owner: Owner,
  list: List<Row, Item>,
  values: Readonly<Record<string, string>>,
): Promise<Item | undefined> {
  const { columns = sql`*`, filters = sql`` } = list
  const read = typeof owner === 'string' ? asTenant(sql, owner) : asService(sql)
  const rows = await read<Row[]>`
    select ${columns} ${entriesOf(sql, list, owner)} ${filters} ${matching(sql, values)}
  `
  return itemsOf(list, rows)[0]
}

function itemsOf<Row extends object, Item>({ fromRow }: List<Row, Item>, rows: Row[]): Item[] {
  return fromRow ? rows.map(fromRow) : objectsOf<Item>(rows)
}

function entriesOf<Row, Item>(
  sql: Sql | Transaction,
  list: List<Row, Item>,
  owner: Owner,
): Fragment {
  if ('entries' in list) return list.entries
  const ofOwner = typeof owner === 'string' ? sql`entry.tenant_id = ${owner}` : sql`true`
  return sql`from ${sql(list.table)} as entry where ${ofOwner} ${list.where ?? sql``}`
}

/**
 * The id up to which no further entries can appear; null if there are none. The order matters: first
 * the newest entry that is visible, then the transactions in flight. The page is a statement of its own,
 * after both, so that it sees what has been committed meanwhile.
 */
async function findNewestFinal(
  sql: Transaction,
  ordered: Ordered,
  owner: Owner,
): Promise<string | null> {
  const [newest, inFlight] = await together([
    findNewest(sql, ordered, owner),
    findFirstInFlight(sql, owner),
  ])
  return newest !== null && inFlight !== null && inFlight < newest ? inFlight : newest
}

async function findNewest(
  sql: Transaction,
  { table, column = 'id' }: Ordered,
  owner: Owner,
): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    select ${sql(column)} as id from ${sql(table)}
    ${typeof owner === 'string' ? sql`where tenant_id = ${owner}` : sql``}
    order by ${sql(column)} desc limit 1
  `
  return row?.id ?? null
}

async function findFirstInFlight(
  sql: Transaction,
  owner: Owner = NO_TENANT,
): Promise<string | null> {
  const [row] = await sql<{ id: string | null }[]>`
    select first_id_in_flight(${owner}::uuid) as id
  `
  return row?.id ?? null
}

/** Whether a list has an entry with the id; without an id, it has. */
export async function hasEntry(
  sql: Transaction,
  entries: Fragment,
  id: string | undefined,
): Promise<boolean> {
  if (id === undefined) return true
  const { count } = await sql`select ${entries} and id = ${id}`
  return count > 0
}

/**
 * The conditions of a page on the id, each with its `and`; then its order, by the column `id` of the
 * result, and its limit.
 */
export function pageOf(
  sql: Sql | Transaction,
  request: PageRequest,
  id: Fragment = sql`id`,
): Fragment {
  const { startingAfter, endingBefore } = request
  const older = startingAfter === undefined ? sql`` : sql`and ${id} < ${startingAfter}`
  const newer = endingBefore === undefined ? sql`` : sql`and ${id} > ${endingBefore}`
  return sql`${older} ${newer} ${firstOf(sql, request)}`
}

function firstOf(sql: Sql | Transaction, request: PageRequest): Fragment {
  const order = isAscending(request) ? sql`asc` : sql`desc`
  return sql`order by id ${order} limit ${request.limit + 1}`
}

export const isAscending = ({ endingBefore, oldest }: PageRequest): boolean =>
  endingBefore !== undefined || oldest === true

/** Makes a page of items that were read for a request, in the order of `pageOf`. */
export function toPage<Item>(read: readonly Item[], request: PageRequest): Page<Item> {
  const items = read.slice(0, request.limit)
  const newestFirst = isAscending(request) ? items.toReversed() : items
  return { items: newestFirst, hasMore: read.length > request.limit }
}

/** The conditions that the columns have these values, each with its `and`. An absent value matches all. */
export function matching(
  sql: Sql | Transaction,
  values: Readonly<Record<string, string | number | undefined>>,
): Fragment {
  const wanted = Object.entries(values).filter(([, value]) => value !== undefined)
  return wanted.reduce(
    (before, [column, value]) => sql`${before} and ${sql(column)} = ${value as string}`,
    sql``,
  )
}
