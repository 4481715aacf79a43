// Deletes records that are older than their retention period, in bounded batches. What an operation or a
// delivery still needs stays, however old it is. The service may not delete history, so functions of
// the owner do it, and only with what is older than the owner wants to keep: see
// drizzle/0000_schema.sql.
import type { Sql } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'
import type { History } from './stored-retention.ts'

/** Records from before this time, and how many of them a batch deletes. */
export interface Old {
  readonly before: Date
  readonly limit: number
}

/** Deletes old records, and returns how many; of `payment_details`, the number of payments. */
export async function deleteOld(
  sql: Sql,
  records: History,
  { before, limit }: Old,
): Promise<number> {
  const [row] = await asService(sql)<{ deleted: number }[]>`
    select ${sql(`delete_old_${records}`)}(${before.toISOString()}::timestamptz, ${limit}::int)::int as deleted
  `
  return row?.deleted ?? 0
}
