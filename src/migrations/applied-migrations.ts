// Tells which migrations a database has. The health check uses it.
import { fileURLToPath } from 'node:url'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { ConfigError } from '../config-formats.ts'
import type { Sql } from '../db/connection/client.ts'
import { isUndefinedTable } from '../db/connection/store-errors.ts'

export const migrationsFolder = fileURLToPath(new URL('../../drizzle', import.meta.url))

/** What to do with the database of a development version. */
export const DEVELOPMENT_ADVICE =
  'Go on with that version, or use an empty database: with npm start, delete the folder DATA_DIR ' +
  '(.data) or set another.'

/**
 * Whether the database has the newest migration of this version, or lacks some. Those of development
 * versions are older than the first one, which has replaced them.
 */
export async function readMigrationState(
  sql: Sql,
  folder = migrationsFolder,
): Promise<'current' | 'behind' | 'development'> {
  const times = readMigrationFiles({ migrationsFolder: folder }).map((file) => file.folderMillis)
  try {
    const [row] = await sql<{ state: 'current' | 'behind' | 'development' }[]>`
      select case
        when min(created_at) < ${times[0] ?? 0} then 'development'
        when max(created_at) >= ${times.at(-1) ?? 0} then 'current'
        else 'behind'
      end as state
      from drizzle.__drizzle_migrations
    `
    return row?.state ?? 'behind'
  } catch (error) {
    // The database was never migrated.
    if (isUndefinedTable(error)) return 'behind'
    throw error
  }
}

/** @throws ConfigError that says what to do, when a development version made the database. */
export async function refuseDevelopmentDatabase(sql: Sql, folder?: string): Promise<void> {
  if ((await readMigrationState(sql, folder)) !== 'development') return
  throw new ConfigError(
    `This database was made by a development version from before the first migration. ${DEVELOPMENT_ADVICE}`,
  )
}
