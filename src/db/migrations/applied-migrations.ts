// Checks which migrations a database has. The health check uses it.
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import postgres from 'postgres'
import type { Sql } from '../connection/client.ts'

export const migrationsFolder = fileURLToPath(new URL('../../../drizzle', import.meta.url))

const UNDEFINED_TABLE = '42P01'

/** Whether the database has the newest migration of this version. */
export async function migrationsAreCurrent(sql: Sql): Promise<boolean> {
  const newest = readMigrationFiles({ migrationsFolder }).at(-1)
  try {
    const [row] = await sql<{ current: boolean }[]>`
      select coalesce(max(created_at) >= ${newest?.folderMillis ?? 0}, false) as current
      from drizzle.__drizzle_migrations
    `
    return row?.current ?? false
  } catch (error) {
    // The database was never migrated.
    if (error instanceof postgres.PostgresError && error.code === UNDEFINED_TABLE) return false
    throw error
  }
}
