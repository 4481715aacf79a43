// Sessions that stand still between a statement and its end, on a real server: they keep their locks until they
// are ended, and nobody else is touched.
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from '@jest/globals'
import postgres from 'postgres'
import { openStore, type Sql, type Store } from '../../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../../src/db/migrations/service-role.ts'
import { endStalledSessions } from '../../../src/db/connection/stalled-sessions.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

let database: TestDatabase
let store: Store
let sweeper: Store

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
})
beforeEach(async () => {
  sweeper = openStore({
    url: database.url,
    applicationName: 'atomic-payments worker',
    poolSize: 1,
    timeoutMs: 60_000,
    role: SERVICE_ROLE,
  })
  await store.sql`create table if not exists rows (id integer primary key)`
  await store.sql`insert into rows values (1), (2) on conflict do nothing`
})
afterEach(() => sweeper.close())
afterAll(async () => {
  await store.close()
  await database.drop()
})

interface Stalled {
  /** Says the word, and waits for the end. */
  release(): Promise<void>
  close(): Promise<void>
}

/** A session that has locked both rows, and has the word that ends its statement still to say. */
async function stall(applicationName: string): Promise<Stalled> {
  const sql = postgres(database.url, {
    max: 1,
    connection: { application_name: applicationName },
    onnotice: () => {},
  })
  const { promise: reading, resolve: read } = Promise.withResolvers<void>()
  const { promise: held, resolve } = Promise.withResolvers<void>()
  // A cursor has the server wait between two rows of one statement.
  const update = async () => {
    for await (const _rows of sql`update rows set id = id returning id`.cursor(1)) {
      read()
      await held
    }
  }
  const updated = update()
  await reading
  await standsStill(applicationName)
  return {
    release() {
      resolve()
      return updated
    },
    close: () => sql.end({ timeout: 0 }),
  }
}

/** The row is read here before the server has gone on to wait for more. */
async function standsStill(applicationName: string): Promise<void> {
  const find = () => store.sql`
    select from pg_stat_activity
    where datname = current_database() and application_name = ${applicationName}
      and state = 'active' and wait_event = 'ClientRead'
  `
  while ((await find()).length === 0);
}

/** The end of a session is asked for, and comes when the server gets to it: waits as long as a statement may. */
async function lockBoth(sql: Sql): Promise<number> {
  return (await sql`select from rows for update`).length
}

async function isLocked(sql: Sql): Promise<boolean> {
  const rows = await sql`select from rows where id = 1 for update skip locked`
  return rows.length === 0
}

describe('a session of the service that stands still', () => {
  test.each(['atomic-payments api', 'atomic-payments worker', 'atomic-payments worker jobs'])(
    'as %s is ended when it has for too long, and lets go of what it had locked',
    async (applicationName) => {
      const stalled = await stall(applicationName)
      expect(await isLocked(store.sql)).toBe(true)
      expect(await endStalledSessions(sweeper.sql, 60_000)).toBe(0)
      expect(await isLocked(store.sql)).toBe(true)

      expect(await endStalledSessions(sweeper.sql, 0)).toBe(1)

      expect(await lockBoth(store.sql)).toBe(2)
      await stalled.close()
    },
  )
})

test('a session of somebody else is left alone', async () => {
  const stalled = await stall('atomic-payments reconcile')

  expect(await endStalledSessions(sweeper.sql, 0)).toBe(0)

  expect(await isLocked(store.sql)).toBe(true)
  await stalled.release()
  expect(await lockBoth(store.sql)).toBe(2)
  await stalled.close()
})

test('sessions that work, wait for a lock or do nothing are left alone', async () => {
  const other = openStore({
    url: database.url,
    applicationName: 'atomic-payments api',
    poolSize: 3,
    timeoutMs: 60_000,
  })
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
  const holding = other.sql.begin(async (tx) => {
    await tx`select from rows for update`
    lock()
    await held
  })
  await locked
  const waiting = other.sql`update rows set id = id`.then(() => 'done')
  const working = other.sql`select pg_sleep(0.2)`.then(() => 'done')
  await store.sql`select pg_sleep(0.05)`

  expect(await endStalledSessions(sweeper.sql, 0)).toBe(0)

  release()
  await holding
  expect(await Promise.all([waiting, working])).toEqual(['done', 'done'])
  await other.close()
})

test('the role of the service is back afterwards', async () => {
  await endStalledSessions(sweeper.sql, 0)

  const [row] = await sweeper.sql`select current_user::text as role`
  expect(row).toEqual({ role: SERVICE_ROLE })
})
