// Which migrations a database has, as whoever serves from it has to know.
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import type { Sql } from '../connection/client.ts'

export const migrationsFolder = fileURLToPath(new URL('../../../drizzle', import.meta.url))

const UNDEFINED_TABLE = '42P01'

/** Whether the newest migration of this version has been applied to the database. */
export async function migrationsAreCurrent(sql: Sql): Promise<boolean> {
  const newest = readMigrationFiles({ migrationsFolder }).at(-1)
  try {
    const [row] = await sql<{ current: boolean }[]>`
      select coalesce(max(created_at) >= ${newest?.folderMillis ?? 0}, false) as current
      from drizzle.__drizzle_migrations
    `
    return row?.current ?? false
  } catch (error) {
    // Nothing was ever migrated here.
    if (error instanceof postgres.PostgresError && error.code === UNDEFINED_TABLE) return false
    throw error
  }
}
