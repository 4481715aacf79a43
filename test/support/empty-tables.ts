// Empties the tables of a test database, which is faster than a new database for each test.
import type { Sql } from '../../src/db/connection/client.ts'

/** Removes all records but the tenants. */
export async function emptyTables(sql: Sql): Promise<void> {
  await sql`
    truncate
      payments, refunds, ledger_postings, provider_events, reconciliation_runs,
      reconciliation_findings, reconciliation_seen, atomic_jobs.job
    cascade
  `
}
