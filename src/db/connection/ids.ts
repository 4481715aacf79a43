// Ids are UUIDv7, so that a primary key finds the rows of a moment: makes them in a statement, and
// their bounds.
import type { Fragment, Sql, Transaction } from './client.ts'

/**
 * The lists that show an entry only when no earlier one can still appear. Their new rows get their ids
 * from `nextId`.
 */
export type OrderedList = 'events' | 'ledger' | 'admin_actions'

/** The tenant of a list that belongs to no tenant. */
export const NO_TENANT = '00000000-0000-0000-0000-000000000000'

/**
 * An expression: the id of a new row of a list. The row has to be inserted in this transaction: until it
 * ends, readers wait for it. See drizzle/0000_schema.sql.
 */
export const nextId = (sql: Sql | Transaction, list: OrderedList, tenantId: Fragment): Fragment =>
  sql`next_id(${list}::text, ${tenantId})`

/** The lower bound of all UUIDv7 of that time, in milliseconds since 1970. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
