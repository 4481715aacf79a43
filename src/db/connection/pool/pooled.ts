// Whether a connection leads through a pooler: then a session of the server is not the client's own.
import type { Sql } from 'postgres'

/**
 * A pooler makes up the number of the process that it tells its client, because the process changes.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html BackendKeyData
 */
export async function isPooled(sql: Sql): Promise<boolean> {
  const asking = sql.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid')
  const [row] = await asking
  const { state } = asking as unknown as { readonly state: { readonly pid: number } }
  return row?.pid !== state.pid
}
