// The settings of a session, which also name the client that has claimed it.
import type { Sql } from 'postgres'

/** Settings of PostgreSQL by their names. */
export type SessionSettings = Readonly<Record<string, string | number>>

export interface SessionSetting {
  readonly name: string
  /** As the server shows it; null for a setting that it does not know. */
  readonly setting: string | null
}

/** The setting that names the client which has claimed the session. It ends with the session. */
const OWNER_SETTING = 'atomic.session_owner'

/**
 * Claims a session for an owner, and sets its settings. Returns nothing when it has an owner, also
 * the same one.
 */
export async function claimSessionIfUnowned(
  sql: Sql,
  ownerId: string,
  settings: SessionSettings,
): Promise<SessionSetting[]> {
  const all: SessionSettings = { ...settings, [OWNER_SETTING]: ownerId }
  return await sql<SessionSetting[]>`
    with unowned as materialized (
      select where coalesce(current_setting(${OWNER_SETTING}, true), '') = ''
    )
    select name, set_config(name, setting, false) as setting
    from unowned, unnest(
      ${Object.keys(all)}::text[], ${Object.values(all).map(String)}::text[]
    ) as asked (name, setting)
  `
}

/** Reads settings of the session in which the statement is executed. */
export async function readSettings(sql: Sql, names: readonly string[]): Promise<SessionSetting[]> {
  return await sql<SessionSetting[]>`
    select name, current_setting(name, true) as setting from unnest(${[...names]}::text[]) as name
  `
}
