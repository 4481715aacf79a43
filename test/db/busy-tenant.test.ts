// A tenant with many keys beside many tenants with one each: a statement about one of its keys reads
// one row. The mean tenant has one key, so that PostgreSQL would otherwise take any index that begins with
// the tenant.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect } from '@jest/globals'
import { seedCompleted } from '../../bench/seed.ts'
import { findIdempotencyKey, findIdle } from '../../src/db/idempotency/idempotency-keys.ts'
import type { Sql, Store } from '../../src/db/connection/client.ts'
import { claimEachIfUnowned, renewIfOwner } from '../../src/db/operations/leases.ts'
import { readOperationState } from '../../src/db/operations/operation-rows.ts'
import { testOnOneServer } from '../support/one-server.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { LEASE_MS, makeTenant, openTestStore } from './reservations.ts'

/** PostgreSQL keeps the plan of a prepared statement from its sixth execution on. */
const EXECUTIONS = 10

async function rowsRead({ sql }: Store): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<{ rows: number }[]>`
    select (seq_tup_read + idx_tup_fetch)::int as rows
    from pg_stat_user_tables where relname = 'idempotency_keys'
  `
  return row?.rows ?? 0
}

interface Key {
  readonly tenantId: string
  readonly id: string
  readonly key: string
}

type Execute = (sql: Sql, key: Key) => Promise<unknown>

const WRITES: readonly (readonly [string, Execute])[] = [
  ['claiming', (sql, ref) => claimEachIfUnowned(sql, [ref], LEASE_MS)],
  [
    'a fenced write',
    (sql, key) => renewIfOwner(sql, { ...key, recoveryPoint: 'started', leaseEpoch: 1 }, LEASE_MS),
  ],
]

const READS: readonly (readonly [string, Execute])[] = [
  ['finding a key', (sql, { tenantId, key }) => findIdempotencyKey(sql, tenantId, key)],
  ['finding idle operations', (sql, key) => findIdle(sql, [key])],
  ['reading the state of an operation', (sql, key) => readOperationState(sql, key)],
]

let database: TestDatabase
let admin: Store
let store: Store
let busy: string

beforeEach(async () => {
  database = await createTestDatabase()
  // The keys are made without the checks of foreign keys.
  admin = openTestStore(database.adminUrl, 1)
  store = openTestStore(database.url, 1)
  busy = await makeTenant(store)
})

afterEach(async () => {
  await Promise.all([store.close(), admin.close()])
  await database.drop()
})

const seed = (keys: number, tenants: readonly string[]) =>
  seedCompleted(admin.sql, { keys, tenants: tenants.map((id) => ({ id, apiKey: '' })) }, () => {})

const newestKeys = () => store.sql<Key[]>`
  select tenant_id as "tenantId", id, key from idempotency_keys
  where tenant_id = ${busy} order by id desc limit ${EXECUTIONS}
`

async function rowsReadBy(execute: Execute): Promise<number> {
  const keys = await newestKeys()
  const before = await rowsRead(store)
  for (const key of keys) await execute(store.sql, key)
  return (await rowsRead(store)) - before
}

testOnOneServer.each([
  ['both indexes have the same height', { otherTenants: 4_000, busyKeys: 1_200 }],
  [
    'the index of the keys is higher than the primary key',
    { otherTenants: 20_000, busyKeys: 6_000 },
  ],
])('each reads one row where %s', async (_title, { otherTenants, busyKeys }) => {
  // Of many more tenants than there are keys, almost each has one.
  await seed(
    otherTenants,
    Array.from({ length: 10 * otherTenants }, () => randomUUID()),
  )
  await seed(busyKeys, [busy])
  await admin.sql`analyze idempotency_keys`

  const read: Record<string, number> = {}
  for (const [title, execute] of [...READS, ...WRITES]) {
    // Making the plan reads rows, too.
    await rowsReadBy(execute)
    read[title] = await rowsReadBy(execute)
  }

  expect(read).toEqual(Object.fromEntries(Object.keys(read).map((title) => [title, EXECUTIONS])))
})

testOnOneServer.each(WRITES)(
  '%s reads one row by a plan that was made without keys',
  async (_title, execute) => {
    for (let time = 0; time < EXECUTIONS; time += 1) {
      await execute(store.sql, { tenantId: busy, id: randomUUID(), key: '' })
    }
    await seed(1_000, [busy])

    expect(await rowsReadBy(execute)).toBe(EXECUTIONS)
  },
)
