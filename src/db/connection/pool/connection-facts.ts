// What a connection leads to.
import type { Sql } from 'postgres'

export interface ConnectionFacts {
  /** It leads through a pooler: then a session of the server is not the client's own. */
  readonly isPooled: boolean
  /** The tables of tenants are on several nodes: see distribute.sql. */
  readonly isDistributed: boolean
}

/**
 * A pooler makes up the number of the process that it tells its client, because the process changes.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html BackendKeyData
 */
export async function readConnection(sql: Sql): Promise<ConnectionFacts> {
  const asking = sql.unsafe<{ pid: number; distributed: boolean }[]>(`
    select pg_backend_pid() as pid,
      current_setting('citus.propagate_set_commands', true) is not distinct from 'local' as distributed
  `)
  const [row] = await asking
  const { state } = asking as unknown as { readonly state: { readonly pid: number } }
  return { isPooled: row?.pid !== state.pid, isDistributed: row?.distributed === true }
}
