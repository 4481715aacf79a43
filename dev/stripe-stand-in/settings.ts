// Stores the settings of the stand-in that survive a restart: the offset of its clock, its
// idempotency mode and its webhook knobs.
import type { DatabaseSync } from 'node:sqlite'

export type Settings = ReturnType<typeof openSettings>

/** Opens the settings, and creates their table if necessary. */
export function openSettings(database: DatabaseSync) {
  database.exec(`
    create table if not exists settings (
      name text primary key,
      value text not null
    ) strict, without rowid`)
  const sql = database.createTagStore()
  return {
    read: (name: string) =>
      sql.get`select value from settings where name = ${name}`?.['value'] as string | undefined,
    write: (name: string, value: string) =>
      void sql.run`insert or replace into settings (name, value) values (${name}, ${value})`,
  }
}
