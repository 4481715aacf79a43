// Migrates a database to this version: our tables, pg-boss's tables, the queues, and the rights of
// the service role. It may run at any time, in several processes at once, and again after a crash.
import { setTimeout as wait } from 'node:timers/promises'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import { PgBoss, type BackendProfile } from 'pg-boss'
import { readConfig, SERVICE_ROLE } from '../config.ts'
import { migrationsFolder, refuseDevelopmentDatabase } from './applied-migrations.ts'
import { openStore, type Sql, type Transaction } from '../db/connection/client.ts'
import { EVERY_TENANT, TENANTS_SETTING } from '../db/connection/transaction.ts'
import { storeErrorKind } from '../db/connection/store-errors.ts'
import { openJobStore } from '../db/queue/job-store.ts'
import { ensureQueues, jobBackend } from './queues.ts'
import { JOB_SCHEMA } from '../db/queue/jobs.ts'
import { createFairFetchIndex } from '../db/queue/fair-fetch.ts'
import { historySettings, type RetentionDays } from '../retention-settings.ts'
import { distributeTables, grantRightsOnNodes, isDistributed } from './distribution.ts'
import { requireOwnerRights, grantServiceRights } from './service-role.ts'

/** An arbitrary number that no other program locks in this database. */
const MIGRATION_LOCK = 7_261_043

/** Long enough for a migration that rewrites a large table. */
const MIGRATION_TIMEOUT_MS = 3_600_000

/**
 * How long a migration waits for the lock of a table. All later statements on the table queue behind
 * it meanwhile, so it gives up soon, lets them pass, and tries again.
 */
const LOCK_TIMEOUT_MS = 500
const LOCK_PAUSE_MS = 2_000

export interface MigrateOptions {
  /** The role that the API and the workers switch to. */
  readonly role?: string
  readonly folder?: string
  /** Distributes the tables with Citus. A database that was distributed stays so without it. */
  readonly citus?: boolean
}

/**
 * Applies every migration that the database lacks, and stores the retention periods of this process's
 * settings. A second process waits for the lock.
 *
 * @throws ConfigError that says what to do, when the owner lacks a right, or when a development
 *   version made the database.
 * @throws the driver's error when the database is unreachable or a migration fails. Each migration
 *   is one transaction, so that a failed one leaves nothing behind.
 */
export async function migrateDatabase(
  url: string,
  { role = SERVICE_ROLE, folder = migrationsFolder, citus = false }: MigrateOptions = {},
): Promise<void> {
  const store = openStore({
    url,
    applicationName: 'atomic-payments migrate',
    // One holds the lock.
    poolSize: 2,
    timeoutMs: MIGRATION_TIMEOUT_MS,
  })
  const { sql } = store
  try {
    await requireOwnerRights(sql, role)
    await sql.begin(async (tx) => {
      // For as long as this transaction: behind a pooler, a session is not its client's own.
      await tx`select pg_advisory_xact_lock(${MIGRATION_LOCK})`
      await refuseDevelopmentDatabase(sql, folder)
      await applyMigrations(sql, folder)
      await migrateJobs(url, await jobBackend(sql))
      await whenUnlocked(sql, createFairFetchIndex)
      const distribute = citus || (await isDistributed(sql))
      if (distribute) await distributeTables(sql)
      await grantServiceRights(sql, role)
      await storeRetention(sql, readConfig())
      if (distribute) await grantRightsOnNodes(sql, role)
    })
  } finally {
    await store.close()
  }
}

/**
 * Does what drizzle's own function does, but commits after each migration. That one keeps the locks
 * of all of them until the last one ends: a migration that reads a large table would stop the
 * writers of every table that an earlier one has altered.
 */
async function applyMigrations(sql: Sql, folder: string): Promise<void> {
  await sql`create schema if not exists drizzle`
  await sql`
    create table if not exists drizzle.__drizzle_migrations (
      id serial primary key, hash text not null, created_at bigint
    )
  `
  const [last] = await sql<{ at: string | null }[]>`
    select max(created_at) as at from drizzle.__drizzle_migrations
  `
  for (const migration of readMigrationFiles({ migrationsFolder: folder })) {
    if (migration.folderMillis <= Number(last?.at ?? 0)) continue
    await whenUnlocked(sql, async (tx) => {
      // Row-level security holds for an owner who is no superuser. It would see no rows, and change none.
      await tx`select set_config(${TENANTS_SETTING}, ${EVERY_TENANT}, true)`
      for (const statement of migration.sql) await tx.unsafe(statement)
      await tx`
        insert into drizzle.__drizzle_migrations (hash, created_at)
        values (${migration.hash}, ${migration.folderMillis})
      `
    })
  }
}

/** Tries again for as long as another session, such as a backup, keeps a table locked. */
async function whenUnlocked(sql: Sql, apply: (tx: Transaction) => Promise<void>): Promise<void> {
  const endsAtMs = performance.now() + MIGRATION_TIMEOUT_MS
  for (;;) {
    try {
      await sql.begin(async (tx) => {
        await tx.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
        await apply(tx)
      })
      return
    } catch (error) {
      // A lock was not granted in time, or there was a deadlock.
      if (storeErrorKind(error) !== 'conflict' || performance.now() > endsAtMs) throw error
      await wait(LOCK_PAUSE_MS)
    }
  }
}

async function migrateJobs(url: string, backend: BackendProfile): Promise<void> {
  const jobs = openJobStore({
    url,
    applicationName: 'atomic-payments migrate',
    timeoutMs: MIGRATION_TIMEOUT_MS,
  })
  const boss = new PgBoss({
    db: jobs,
    schema: JOB_SCHEMA,
    backend,
    supervise: false,
    schedule: false,
  })
  try {
    await boss.start()
    await ensureQueues(boss, readConfig())
  } finally {
    await boss.stop({ graceful: false })
    await jobs.close()
  }
}

/**
 * Stores how long the owner of the database wants history to be kept: the service may not, and deletes
 * nothing that is younger.
 */
export async function storeRetention(sql: Sql, days: RetentionDays): Promise<void> {
  const rows = Object.entries(historySettings).map(([records, setting]) => ({
    records,
    days: days[setting],
  }))
  await sql`
    insert into retention_periods (records, days)
    select records, days from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as asked (
      records text, days integer
    )
    on conflict (records) do update set days = excluded.days
  `
}
