// Deletes records that are older than their retention period, in bounded batches. What an operation or a
// delivery still needs stays, however old it is. The service may not delete history, so functions of
// the owner do it, and only with what is older than the owner wants to keep: see
// drizzle/0000_schema.sql.
import type { Fragment, Sql } from '../connection/client.ts'
import { asService } from '../connection/transaction.ts'

/** Records from before this time, and how many of them a batch deletes. */
export interface Old {
  readonly before: Date
  readonly limit: number
}

/** Deletes deliveries that ended, with their attempts. Returns the number of deliveries. */
export function deleteOldDeliveries(sql: Sql, old: Old): Promise<number> {
  return deleteOld(sql, sql`delete_old_deliveries`, old)
}

/** Deletes entries of timelines, unless their operation has no final answer yet. */
export function deleteOldPhaseRuns(sql: Sql, old: Old): Promise<number> {
  return deleteOld(sql, sql`delete_old_phase_runs`, old)
}

/** Deletes events that have no delivery any more. */
export function deleteOldEvents(sql: Sql, old: Old): Promise<number> {
  return deleteOld(sql, sql`delete_old_events`, old)
}

/** Deletes records of what operators did. */
export function deleteOldAdminActions(sql: Sql, old: Old): Promise<number> {
  return deleteOld(sql, sql`delete_old_admin_actions`, old)
}

/**
 * Deletes the details of final payments: who paid, what the client wrote about it, the timeline, the
 * events and their deliveries. Nothing younger than 400 days. Returns the number of payments.
 */
export function deleteOldPaymentDetails(sql: Sql, old: Old): Promise<number> {
  return deleteOld(sql, sql`delete_old_payment_details`, old)
}

async function deleteOld(sql: Sql, deleting: Fragment, { before, limit }: Old): Promise<number> {
  const [row] = await asService(sql)<{ deleted: number }[]>`
    select ${deleting}(${before.toISOString()}::timestamptz, ${limit}::int)::int as deleted
  `
  return row?.deleted ?? 0
}
