// Sessions of the service that stand still in the middle of a statement: it was carried out, and the word that
// ends it never came, because the network or the process has stopped there. No time limit of the server ends such
// a session (transaction_timeout would, since PostgreSQL 17), and as long as it stands it keeps its locks.
import type { Sql } from './client.ts'
import { inTransaction } from './transaction.ts'

/** Of the API and the workers: what an operator runs may take its time. */
const OF_THE_SERVICE = '^atomic-payments (api|worker)'

/**
 * Ends those that have waited for their client for so long, and tells how many they were. What such a session
 * has done is rolled back: to its client, the commit was never acknowledged.
 *
 * @param silentForMs longer than any statement may take, so that none that goes on is touched.
 * @see https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-CLIENT-TABLE ClientRead
 */
export async function endStalledSessions(sql: Sql, silentForMs: number): Promise<number> {
  return await inTransaction(sql, async (tx) => {
    // They belong to the user that has logged in, whom the role of the service may not end.
    await tx`set local role none`
    const rows = await tx`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = session_user
        and application_name ~ ${OF_THE_SERVICE}
        and state = 'active' and wait_event = 'ClientRead'
        and query_start < now() - ${silentForMs} * interval '1 millisecond'
    `
    return rows.length
  })
}
