// What a connection leads to, and the settings of its session, or of a transaction behind a pooler.
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

/** Settings of PostgreSQL by their names. */
export type SessionSettings = Readonly<Record<string, string | number>>

/**
 * What every session of the service has, also when the server, the database or the role has another
 * default: how values are written and read, what a statement means, and when a session ends. Timeouts
 * are off unless the store sets its own. `default_transaction_read_only` is not among them: with it an
 * operator, or a provider whose disk is full, stops all writes.
 */
export const FIXED_SETTINGS: SessionSettings = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  timezone_abbreviations: 'Default',
  bytea_output: 'hex',
  extra_float_digits: 1,
  xmlbinary: 'base64',
  xmloption: 'content',
  lc_monetary: 'C',
  lc_numeric: 'C',
  lc_time: 'C',
  client_encoding: 'UTF8',
  array_nulls: 'on',
  backslash_quote: 'safe_encoding',
  escape_string_warning: 'on',
  quote_all_identifiers: 'off',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  search_path: 'public',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  plan_cache_mode: 'auto',
  // A refused statement must not end the session: what it had sent before would be in doubt.
  exit_on_error: 'off',
  // A warning says that a commit no longer waits for its standby.
  client_min_messages: 'notice',
  statement_timeout: 0,
  lock_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  idle_session_timeout: 0,
  // Since PostgreSQL 17.
  transaction_timeout: 0,
}

/** Returns the text that sets the fixed settings and its own in a session. */
export const settingsOfSession = (settings: SessionSettings = {}): string => set(settings, false)

/**
 * Returns the text that begins a transaction with the fixed settings and its own: behind a pooler, its
 * session may have any.
 */
export const beginWithSettings = (settings: SessionSettings): string =>
  `begin isolation level read committed; ${set(settings, true)}`

function set(settings: SessionSettings, isLocal: boolean): string {
  const all = Object.entries({ ...FIXED_SETTINGS, ...settings })
  const rows = all.map(([name, value]) => `('${name}', '${value}')`).join(', ')
  // An older server lacks some.
  return `
    select set_config(name, setting, ${isLocal}) from (values ${rows}) as asked (name, setting)
    where name like '%.%' or current_setting(name, true) is not null
  `
}
