// Migrates a database to this version: our tables, pg-boss's tables, the queues, and the rights of
// the service role. It may run at any time, in several processes at once, and again after a crash.
import { createRequire } from 'node:module'
import { PgBoss } from 'pg-boss'
import { readConfig } from '../../config.ts'
import { migrationsFolder } from './applied-migrations.ts'
import { openStore } from '../connection/client.ts'
import { JOB_SCHEMA, ensureQueues } from '../queue/queues.ts'
import { grantServiceRights } from './service-role.ts'

// Its CommonJS files load in a sixth of the time of the others: for each of these, Node parses the
// 180 KB of drizzle's package.json.
const require = createRequire(import.meta.url)
const { drizzle } = require('drizzle-orm/postgres-js') as typeof import('drizzle-orm/postgres-js')
const { migrate } =
  require('drizzle-orm/postgres-js/migrator') as typeof import('drizzle-orm/postgres-js/migrator')

/** An arbitrary number that no other program locks in this database. */
const MIGRATION_LOCK = 7_261_043

/** Long enough for a migration that rewrites a large table. */
const MIGRATION_TIMEOUT_MS = 3_600_000

/**
 * Applies every migration that the database lacks. A second process waits for the lock.
 *
 * @throws the driver's error when the database is unreachable or a migration fails. Each migration
 *   is one transaction, so that a failed one leaves nothing behind.
 */
export async function migrateDatabase(url: string): Promise<void> {
  const store = openStore({
    url,
    applicationName: 'atomic-payments migrate',
    // One connection, because the advisory lock belongs to the session that runs the migrations.
    poolSize: 1,
    timeoutMs: MIGRATION_TIMEOUT_MS,
  })
  try {
    await store.sql`select pg_advisory_lock(${MIGRATION_LOCK})`
    await migrate(drizzle({ client: store.sql }), { migrationsFolder })
    await migrateJobs(url)
    await grantServiceRights(store.sql)
  } finally {
    await store.close()
  }
}

async function migrateJobs(url: string): Promise<void> {
  const boss = new PgBoss({
    connectionString: url,
    schema: JOB_SCHEMA,
    application_name: 'atomic-payments migrate',
    max: 1,
    supervise: false,
    schedule: false,
  })
  await boss.start()
  try {
    await ensureQueues(boss, readConfig())
  } finally {
    await boss.stop({ graceful: false })
  }
}
