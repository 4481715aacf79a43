// Stores the settings of the stand-in that survive a restart: the offset of its clock, its
// idempotency mode and its webhook knobs.
import type { DatabaseSync } from 'node:sqlite'

export interface Settings {
  read(name: string): string | undefined
  write(name: string, value: string): void
}

/** Opens the settings, and creates their table if necessary. */
export function openSettings(database: DatabaseSync): Settings {
  database.exec(`
    create table if not exists settings (
      name text primary key,
      value text not null
    ) strict, without rowid`)
  const select = database.prepare('select value from settings where name = ?')
  const upsert = database.prepare('insert or replace into settings (name, value) values (?, ?)')
  return {
    read: (name) => select.get(name)?.['value'] as string | undefined,
    write: (name, value) => void upsert.run(name, value),
  }
}
