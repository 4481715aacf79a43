// Tests the migration that moves completed keys from the tables of their day back to the main
// table, on a database of the previous version: no retry executes an operation again, also while a
// worker of that version runs.
import { randomBytes, randomUUID } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import { migrationsFolder } from '../../../src/db/migrations/applied-migrations.ts'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import { insertTombstones, deleteIfTombstoned } from '../../../src/db/idempotency/key-expiry.ts'
import { doOnce } from '../../../src/db/idempotency/local-operations.ts'
import { migrateDatabase } from '../../../src/db/migrations/migrate.ts'
import { SERVICE_ROLE } from '../../../src/config.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { ageTombstones } from '../../support/expired-keys.ts'
import { openTestStore, reservationOf, reserve, RETENTION_SECONDS } from '../reservations.ts'

const MIGRATION = '0011_finished_keys_back'

/** The columns that a completed key has in both tables. */
const COLUMNS = `
  tenant_id, id, key, fingerprint, operation, payment_id, refund_id, attempts, created_at, finished_at,
  expires_at, earlier, response_status, response_headers, response_body
`

let folder: string
let migrated: TestDatabase
let admin: Store
let name: string
let url: string
/** The owner of the database, not a superuser, with a session that names every tenant. */
let owner: Store
let sql: Sql

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atomic-payments-migrations-'))
  await cp(migrationsFolder, folder, { recursive: true })
  const journalFile = join(folder, 'meta', '_journal.json')
  const journal = JSON.parse(await readFile(journalFile, 'utf8')) as { entries: { tag: string }[] }
  const entries = journal.entries.filter(({ tag }) => tag < MIGRATION)
  await writeFile(journalFile, JSON.stringify({ ...journal, entries }))
  migrated = await createTestDatabase()
  admin = openTestStore(migrated.adminUrl, 1)
})
beforeEach(async () => {
  name = `test_days_${randomBytes(6).toString('hex')}`
  await admin.sql.unsafe(`create role ${name} login password 'secret'`)
  await admin.sql.unsafe(`grant ${SERVICE_ROLE} to ${name}`)
  await admin.sql.unsafe(`create database ${name} template template0 owner ${name}`)
  const own = { username: name, password: 'secret', pathname: name }
  url = Object.assign(new URL(migrated.url), own).href
  owner = openTestStore(url, 1)
  sql = owner.sql
  await migrate(drizzle({ client: sql }), { migrationsFolder: folder })
  await sql`select set_config('atomic.tenants', '*', false)`
  for (const daysAhead of [-2, 1]) await makeDay(daysAhead)
})
afterEach(async () => {
  await owner.close()
  await admin.sql.unsafe(`drop database ${name} with (force)`)
  await admin.sql.unsafe(`drop role ${name}`)
})
afterAll(async () => {
  await admin.close()
  await migrated.drop()
  await rm(folder, { recursive: true, force: true })
})

/**
 * Creates the partition of a day, as the function of the schema does, which creates none of the
 * past.
 */
async function makeDay(daysAhead: number): Promise<void> {
  await sql.unsafe(`
    do $$ declare day date := (now() at time zone 'UTC')::date + ${daysAhead}; begin
      execute format(
        'create table %I partition of finished_keys for values from (%L) to (%L)',
        'finished_keys_' || to_char(day, 'YYYYMMDD'),
        day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
      );
    end $$
  `)
}

const body = '{"id": "pay_1",  "amount":1999}'

/** The statement of this version reads columns that the previous one lacks. */
async function insertTenant(): Promise<string> {
  const id = randomUUID()
  await sql`insert into tenants (id, name) values (${id}, 'test')`
  return id
}

/** A key that the previous version moved to its day, `daysAhead` of today. */
async function movedKey({ daysAhead = 1, local = false } = {}) {
  const tenantId = await insertTenant()
  const reservation = reservationOf(tenantId)
  const { id, key, fingerprint, paymentId } = reservation
  await sql`
    insert into payments (
      tenant_id, id, amount_minor, currency, capture_method, payment_method, metadata, provider
    )
    values (${tenantId}, ${paymentId}, 1999, 'usd', 'automatic', 'pm_card_visa', '{}', 'stripe')
  `
  await sql`
    insert into finished_keys (${sql.unsafe(COLUMNS)})
    values (
      ${tenantId}, ${id}, ${key}, ${fingerprint},
      ${local ? 'webhook_endpoint.create' : 'payment.create'}, ${local ? null : paymentId}, null, 1,
      now(), now(),
      (date_trunc('day', now() at time zone 'UTC') + ${daysAhead} * interval '1 day') at time zone 'UTC',
      '{"payment_id": null}', 201, '{"location": "/v1/here"}', ${body}
    )
  `
  return reservation
}

/** As in the previous version between the copy and the delete. */
async function putInBoth(id: string): Promise<void> {
  await sql`
    insert into idempotency_keys (${sql.unsafe(COLUMNS)}, status, recovery_point)
    select ${sql.unsafe(COLUMNS)}, 'completed', 'finished' from finished_keys where id = ${id}
  `
}

const readKeys = () =>
  sql`select id, status, response_body as body from idempotency_keys order by id`

const response = { status: 201, headers: { location: '/v1/here' }, body }

test('replays the stored response byte for byte', async () => {
  const { tenantId, id, key, fingerprint } = await movedKey()

  await migrateDatabase(url)
  const retried = await reserve(sql, reservationOf(tenantId, { key }))

  expect(retried).toMatchObject({ id, fingerprint, status: 'completed', response })
  expect(retried.earlier).not.toBeNull()
  expect(await sql`select from payments`).toHaveLength(1)
  expect(await sql`select from pgboss.job where data ->> 'operationId' is not null`).toHaveLength(0)
  expect(await sql`select from finished_keys`).toHaveLength(0)
})

test('does not repeat a local operation', async () => {
  const { tenantId, id, key, fingerprint } = await movedKey({ local: true })
  let done = false

  await migrateDatabase(url)
  const reservation = {
    tenantId,
    id: randomUUID(),
    key,
    fingerprint,
    operation: 'webhook_endpoint.create',
    retentionSeconds: RETENTION_SECONDS,
    expiredKeys: 'new',
  } as const
  const retried = await doOnce(sql, reservation, () => {
    done = true
    return Promise.resolve(response)
  })

  expect(done).toBe(false)
  expect(retried).toMatchObject({ id, response })
})

test('moves keys of every tenant, and leaves the same key of another tenant free', async () => {
  const moved = [await movedKey(), await movedKey(), await movedKey()]
  const other = reservationOf(await insertTenant(), { key: moved[0]?.key ?? '' })

  await migrateDatabase(url)

  const ids = moved.map(({ id }) => id).toSorted()
  expect((await readKeys()).map((row) => row['id'] as string)).toEqual(ids)
  expect((await reserve(sql, other)).id).toBe(other.id)
})

test('lets the reaper write the tombstone of an expired key, for a late retry', async () => {
  const { tenantId, id, key, paymentId } = await movedKey({ daysAhead: -2 })

  await migrateDatabase(url)
  const replayed = await reserve(sql, reservationOf(tenantId, { key }))
  const written = await insertTombstones(sql, { limit: 100 })
  await ageTombstones(sql)
  const deleted = await deleteIfTombstoned(sql, { limit: 100, statementTimeoutMs: 1_000 })
  const late = await reserve(sql, reservationOf(tenantId, { key }))

  expect(replayed.id).toBe(id)
  expect([written.inserted, deleted]).toEqual([1, 1])
  expect(late).toMatchObject({ status: 'pending', earlier: { paymentId } })
})

test('keeps a key that is in both tables unchanged', async () => {
  const { id } = await movedKey()
  await putInBoth(id)
  await sql`update idempotency_keys set response_body = 'dropped' where id = ${id}`

  await migrateDatabase(url)

  expect(await readKeys()).toEqual([{ id, status: 'completed', body: 'dropped' }])
  expect(await sql`select from finished_keys`).toHaveLength(0)
})

test('restores a key that a worker of the previous version is deleting', async () => {
  const { id } = await movedKey()
  await putInBoth(id)
  let migration: Promise<void> | undefined
  await sql.begin(async (tx) => {
    await tx`
      delete from idempotency_keys using finished_keys as copy
      where idempotency_keys.id = copy.id and idempotency_keys.response_body = copy.response_body
    `
    migration = migrateDatabase(url)
    let waits = 0
    while (waits === 0) {
      waits = (
        await tx`select from pg_locks where relation = 'idempotency_keys'::regclass and not granted`
      ).count
    }
  })
  await migration

  expect(await readKeys()).toEqual([{ id, status: 'completed', body }])
})

test('stops the previous version from copying keys, and so from deleting them', async () => {
  const { tenantId, id, key } = await movedKey()
  await migrateDatabase(url)
  await sql`select make_finished_keys_day((now() at time zone 'UTC')::date + 2)`

  const copied = await sql`
    insert into finished_keys (${sql.unsafe(COLUMNS)})
    select ${sql.unsafe(COLUMNS)} from idempotency_keys
    union all
    select
      tenant_id, gen_random_uuid(), 'key-of-a-new-day', fingerprint, operation, payment_id, refund_id,
      attempts, created_at, finished_at, expires_at + interval '1 day', earlier, response_status,
      response_headers, response_body
    from idempotency_keys
    on conflict (tenant_id, key, expires_at) do update set copied_at = now()
    returning 1
  `

  expect(copied).toHaveLength(0)
  expect(await sql`select from finished_keys`).toHaveLength(0)
  expect((await reserve(sql, reservationOf(tenantId, { key }))).id).toBe(id)
})
