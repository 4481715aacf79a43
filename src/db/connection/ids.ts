// Ids are UUIDv7, so that a primary key finds the rows of a moment: makes them in a statement, and
// their bounds.
import { randomUUIDv7 } from 'node:crypto'
import type { Fragment, Sql, Transaction } from './client.ts'

/** An expression: an id for each row of a statement, with the time of now and random bits. */
export const idOfEach = (sql: Sql | Transaction): Fragment => sql`
  (left(${randomUUIDv7()}::text, 15) || right(gen_random_uuid()::text, 21))::uuid
`

/** The lower bound of all UUIDv7 of that time, in milliseconds since 1970. */
export function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}
