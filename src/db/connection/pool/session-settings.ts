// The settings of a session, which also name the client that has claimed it.
import type { Sql } from 'postgres'

/** Settings of PostgreSQL by their names. */
export type SessionSettings = Readonly<Record<string, string | number>>

export interface SessionSetting {
  readonly name: string
  /** As the server shows it; null for a setting that it does not know. */
  readonly setting: string | null
}

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

/** The setting that names the client which has claimed the session. It ends with the session. */
const OWNER_SETTING = 'atomic.session_owner'

/**
 * Claims a session for an owner, and sets the fixed settings and its own. Returns nothing when it has
 * an owner, also the same one.
 */
export async function claimSessionIfUnowned(
  sql: Sql,
  ownerId: string,
  settings: SessionSettings,
): Promise<SessionSetting[]> {
  const all: SessionSettings = { ...FIXED_SETTINGS, ...settings, [OWNER_SETTING]: ownerId }
  return await sql<SessionSetting[]>`
    with unowned as materialized (
      select where coalesce(current_setting(${OWNER_SETTING}, true), '') = ''
    )
    select name, set_config(name, setting, false) as setting
    from unowned, unnest(
      ${Object.keys(all)}::text[], ${Object.values(all).map(String)}::text[]
    ) as asked (name, setting)
    -- An older server lacks some.
    where name like '%.%' or current_setting(name, true) is not null
  `
}

/** Sets the fixed settings in a session that no store claims. Its driver may know no arrays. */
export async function fixSettings(sql: Sql): Promise<void> {
  await sql`
    select set_config(key, value, false)
    from jsonb_each_text(${JSON.stringify(FIXED_SETTINGS)}::text::jsonb)
    where current_setting(key, true) is not null
  `
}

/** Reads settings of the session in which the statement is executed. */
export async function readSettings(sql: Sql, names: readonly string[]): Promise<SessionSetting[]> {
  return await sql<SessionSetting[]>`
    select name, current_setting(name, true) as setting from unnest(${[...names]}::text[]) as name
  `
}
