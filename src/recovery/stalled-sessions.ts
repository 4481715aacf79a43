// Ends sessions of the service that are stalled in the middle of a statement: the server executed
// it, and the next protocol message never arrives, because the network or the process stopped. No
// timeout of the server ends such a session (transaction_timeout would, since PostgreSQL 17), and
// it keeps its locks.
import type { Sql } from '../db/connection/client.ts'
import { inTransaction } from '../db/connection/transaction.ts'

/** The sessions of the API and the workers. Commands of operators may take longer. */
const SERVICE_APPLICATIONS = '^atomic-payments (api|worker)'

/**
 * Ends the sessions that have waited for their client for that long, and returns their number.
 * Their transactions roll back: the client never got an acknowledgment of the commit.
 *
 * @param silentForMs longer than any statement may take, so that no live session is ended.
 * @see https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-CLIENT-TABLE
 *   ClientRead
 */
export async function endStalledSessions(sql: Sql, silentForMs: number): Promise<number> {
  return await inTransaction(sql, async (tx) => {
    // The sessions belong to the login user. The service role may not end them.
    await tx`set local role none`
    const rows = await tx`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and usename = session_user
        and application_name ~ ${SERVICE_APPLICATIONS}
        and state = 'active' and wait_event = 'ClientRead'
        and query_start < now() - ${silentForMs} * interval '1 millisecond'
    `
    return rows.length
  })
}
