// Tests migrations, on databases that are not copies of the migrated template.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import postgres from 'postgres'
import type { Store } from '../../src/db/connection/client.ts'
import { readMigrationState } from '../../src/migrations/applied-migrations.ts'
import { migrateDatabase } from '../../src/migrations/migrate.ts'
import {
  MAINTENANCE_QUEUE,
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
  PROVIDER_EVENTS_DEAD_LETTERS,
  PROVIDER_EVENTS_QUEUE,
  RECONCILIATIONS_DEAD_LETTERS,
  RECONCILIATIONS_QUEUE,
  REMINDERS_QUEUE,
  WEBHOOKS_DEAD_LETTERS,
  WEBHOOKS_QUEUE,
} from '../../src/db/queue/jobs.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { listEvents } from '../../src/db/events/events.ts'
import { openServiceStore } from '../support/service-store.ts'
import { makeTenant, openTestStore, reservationOf, reserve } from '../db/reservations.ts'

let migrated: TestDatabase
let admin: Store
let empty: TestDatabase
let url: string
let store: Store

beforeAll(async () => {
  migrated = await createTestDatabase()
  admin = openTestStore(migrated.adminUrl, 1)
})
beforeEach(async () => {
  empty = await createEmptyDatabase()
  url = empty.url
  store = openTestStore(url)
})
afterEach(async () => {
  await store.close()
  await empty.drop()
})
afterAll(async () => {
  await admin.close()
  await migrated.drop()
})

interface Described {
  readonly object: string
}

/**
 * All columns, constraints and indexes of ours and of pg-boss, and all queues. The partitions that
 * pg-boss names after today and tomorrow are left out: two databases may have been migrated on
 * different days.
 */
async function describeDatabase(database: Store): Promise<Described[]> {
  return await database.sql<Described[]>`
    with described (object) as (
      select table_schema || '.' || table_name || '.' || column_name || ' ' || data_type
      from information_schema.columns where table_schema in ('public', 'atomic_jobs', 'drizzle')
      union all
      select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
      where connamespace in ('public'::regnamespace, 'atomic_jobs'::regnamespace)
      union all
      select indexdef from pg_indexes where schemaname in ('public', 'atomic_jobs')
      union all
      select (to_jsonb(queue) - 'created_on' - 'updated_on')::text from atomic_jobs.queue
    )
    select object from described
    where object !~ 'queue_stats_[0-9]{8}'
    order by object
  `
}

/** A folder with these migrations. */
async function folderWith(migrations: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'atomic-payments-migrations-'))
  const entries = Object.keys(migrations).map((tag, at) => ({
    tag,
    when: at + 1,
    breakpoints: true,
  }))
  await mkdir(join(folder, 'meta'))
  await writeFile(join(folder, 'meta', '_journal.json'), JSON.stringify({ entries }))
  for (const [tag, sql] of Object.entries(migrations)) {
    await writeFile(join(folder, `${tag}.sql`), sql)
  }
  return folder
}

test('commits each migration before the next one, and leaves nothing of a failed one behind', async () => {
  const folder = await folderWith({
    '0000_first': 'create table first (id int)',
    '0001_second':
      'create table second (id int);--> statement-breakpoint\ncreate table first (id int)',
  })

  await expect(migrateDatabase(url, { folder })).rejects.toThrow('already exists')
  await rm(folder, { recursive: true })

  const tables =
    await store.sql`select to_regclass('first') is null as first, to_regclass('second') is null as second`
  expect(tables.map((row) => Object.values(row))).toEqual([[false, true]])
  expect(await store.sql`select hash from drizzle.__drizzle_migrations`).toHaveLength(1)
})

test('lets readers pass while another session keeps a table locked, and then goes on', async () => {
  await store.sql`create table locked (id int)`
  const folder = await folderWith({ '0000_alter': 'alter table locked add column name text' })
  const backup = postgres(url, { max: 1 })
  await backup`begin`
  await backup`lock table locked in access share mode`

  const migrating = migrateDatabase(url, { folder })
  const waits = () => store.sql`
    select from pg_locks join pg_class on pg_class.oid = relation
    where relname = 'locked' and mode = 'AccessExclusiveLock' and not granted
  `
  while ((await waits()).length === 0) await new Promise(setImmediate)
  // It queues behind the migration, until that gives up for a moment.
  expect(await store.sql`select id from locked`).toEqual([])
  await backup`commit`
  await backup.end()

  // The rights are granted afterwards, on tables that this folder does not create.
  await expect(migrating).rejects.toThrow('retire_api_key')
  await rm(folder, { recursive: true })
  expect(await store.sql`select name from locked`).toEqual([])
})

test('creates the tables and the queues of a fresh database, which can store a payment', async () => {
  expect(await readMigrationState(store.sql)).toBe('behind')

  await migrateDatabase(url)

  expect(await readMigrationState(store.sql)).toBe('current')
  const queues = await store.sql`select name, dead_letter from atomic_jobs.queue order by name`
  expect(queues).toEqual([
    { name: MAINTENANCE_QUEUE, dead_letter: null },
    { name: OPERATIONS_QUEUE, dead_letter: OPERATIONS_DEAD_LETTERS },
    { name: OPERATIONS_DEAD_LETTERS, dead_letter: null },
    { name: PROVIDER_EVENTS_QUEUE, dead_letter: PROVIDER_EVENTS_DEAD_LETTERS },
    { name: PROVIDER_EVENTS_DEAD_LETTERS, dead_letter: null },
    { name: RECONCILIATIONS_QUEUE, dead_letter: RECONCILIATIONS_DEAD_LETTERS },
    { name: RECONCILIATIONS_DEAD_LETTERS, dead_letter: null },
    { name: REMINDERS_QUEUE, dead_letter: PROVIDER_EVENTS_DEAD_LETTERS },
    { name: WEBHOOKS_QUEUE, dead_letter: WEBHOOKS_DEAD_LETTERS },
    { name: WEBHOOKS_DEAD_LETTERS, dead_letter: null },
  ])
  const key = await reserve(store.sql, reservationOf(await makeTenant(store)))
  expect(key.status).toBe('pending')
})

/** The tables of ours, as far as drizzle knows them: columns, constraints, indexes, policies. */
async function describeTables(database: Store): Promise<Described[]> {
  return await database.sql<Described[]>`
    with of_ours as (
      select oid from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'rate_limits'
    ),
    described (object) as (
      select concat_ws(
        ' ', attrelid::regclass, attname, format_type(atttypid, atttypmod), attnotnull,
        pg_get_expr(adbin, adrelid)
      )
      from of_ours join pg_attribute on attrelid = oid
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attnum > 0 and not attisdropped
      union all
      select concat_ws(
        ' ', conrelid::regclass, conname,
        replace(pg_get_constraintdef(pg_constraint.oid), ' DEFERRABLE INITIALLY DEFERRED', '')
      )
      from of_ours join pg_constraint on conrelid = of_ours.oid
      union all
      select pg_get_indexdef(indexrelid) from of_ours join pg_index on indrelid = oid
      union all
      select concat_ws(' ', polrelid::regclass, polname, polcmd, pg_get_expr(polqual, polrelid))
      from of_ours join pg_policy on polrelid = of_ours.oid
    )
    select object from described order by object
  `
}

test('makes the tables that src/db/schema describes', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    'node_modules/drizzle-kit/bin.cjs',
    'export',
    '--sql',
  ])
  // Constraints call them.
  const functions = await admin.sql<{ definition: string }[]>`
    select pg_get_functiondef(oid) as definition from pg_proc
    where pronamespace = 'public'::regnamespace and (proname = 'place_of_id' or proname like '%\\_rules')
  `
  await store.sql.unsafe([...functions.map(({ definition }) => definition), stdout].join(';'))

  const described = await describeTables(store)
  expect(described.length).toBeGreaterThan(400)
  expect(await describeTables(admin)).toEqual(described)
})

test('lets the service call what its statements need, where PUBLIC may execute nothing', async () => {
  await store.sql`alter default privileges revoke execute on functions from public`
  await migrateDatabase(url)
  const service = openServiceStore(url, 1)
  const tenantId = await makeTenant(store)

  await expect(reserve(service.sql, reservationOf(tenantId))).resolves.toBeDefined()
  await expect(listEvents(service.sql, tenantId, {}, { limit: 1 })).resolves.toBeDefined()
  const refused = service.sql`select refuse_row('payments_step')`
  await expect(refused).rejects.toMatchObject({ constraint_name: 'payments_step' })
  await service.close()
})

test('defers the constraints between a key and its resource, which is written later', async () => {
  const deferred = await admin.sql`
    select conname as name from pg_constraint
    where connamespace = 'public'::regnamespace and condeferrable and condeferred order by conname
  `

  expect(deferred).toEqual(
    ['dispute', 'payment', 'refund'].map((resource) => ({ name: `idempotency_keys_${resource}` })),
  )
})

test('distributes nothing in a database without Citus, and says so', async () => {
  await expect(migrateDatabase(migrated.url, { citus: true })).rejects.toThrow(
    'the extension citus is not installed in this database',
  )

  expect(
    await admin.sql`
    select from pg_class where relname in ('distributed_tables', 'two_phases')
  `,
  ).toHaveLength(0)
})

test('leaves a current database and its rows unchanged', async () => {
  const tenantId = await makeTenant(admin)
  const key = await reserve(admin.sql, reservationOf(tenantId))
  const before = await describeDatabase(admin)

  await migrateDatabase(migrated.url)

  expect(await describeDatabase(admin)).toEqual(before)
  const kept = await admin.sql`select id from idempotency_keys where tenant_id = ${tenantId}`
  expect(kept).toEqual([{ id: key.id }])
})

test('gives the same result when four processes migrate a fresh database', async () => {
  await Promise.all(Array.from({ length: 4 }, () => migrateDatabase(url)))

  expect(await describeDatabase(store)).toEqual(await describeDatabase(admin))
  expect(await readMigrationState(store.sql)).toBe('current')
})

test.each([
  ['without migrations', '{}', 'behind'],
  ['without the newest migration', '{1}', 'behind'],
  ['with the newest migration', '{1,2}', 'current'],
  ['of a later version', '{1,2,3}', 'current'],
  ['of a development version', '{0}', 'development'],
] as const)('reports a database %s', async (_, times, state) => {
  const folder = await folderWith({ '0000_first': '', '0001_second': '' })
  await store.sql`create schema drizzle`
  await store.sql`
    create table drizzle.__drizzle_migrations as select unnest(${times}::bigint[]) as created_at
  `

  expect(await readMigrationState(store.sql, folder)).toBe(state)
  await rm(folder, { recursive: true })
})

test('fails when the database is unreachable', async () => {
  const nowhere = Object.assign(new URL(url), { pathname: 'nothing_of_that_name' }).href

  await expect(migrateDatabase(nowhere)).rejects.toMatchObject({ code: '3D000' })
})

test('migrates several databases of one cluster at once, although they share the role', async () => {
  const others = await Promise.all(Array.from({ length: 2 }, createEmptyDatabase))

  const migrations = await Promise.allSettled(others.map((other) => migrateDatabase(other.url)))

  for (const other of others) await other.drop()
  expect(migrations.map(({ status }) => status)).toEqual(Array(2).fill('fulfilled'))
})
