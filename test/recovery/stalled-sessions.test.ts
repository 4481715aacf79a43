// Tests stalled sessions on a real server: they keep their locks until they are ended, and no other
// session is ended.
import { beforeEach, afterEach, describe, expect, test } from '@jest/globals'
import postgres from 'postgres'
import { openStore, type Sql, type Store } from '../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../src/config.ts'
import { endStalledSessions } from '../../src/recovery/stalled-sessions.ts'
import { until } from '../support/until.ts'
import { database, store } from '../support/own-store.ts'

let sweeper: Store

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
interface Stalled {
  /** Lets the statement finish, and waits for its end. */
  release(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens a session that has locked both rows and has not sent the message that ends its statement.
 */
async function stall(applicationName: string): Promise<Stalled> {
  const sql = postgres(database.url, {
    max: 1,
    connection: { application_name: applicationName },
    onnotice: () => {},
  })
  const { promise: reading, resolve: read } = Promise.withResolvers<void>()
  const { promise: released, resolve } = Promise.withResolvers<void>()
  // With a cursor, the server waits between two rows of one statement.
  const update = async () => {
    for await (const _rows of sql`update rows set id = id returning id`.cursor(1)) {
      read()
      await released
    }
  }
  const updated = update()
  await reading
  await untilStalled(applicationName)
  return {
    release() {
      resolve()
      return updated
    },
    close: () => sql.end({ timeout: 0 }),
  }
}

/** Waits until the server waits for the client: the row arrives here earlier. */
async function untilStalled(applicationName: string): Promise<void> {
  const find = () => store.sql`
    select from pg_stat_activity
    where datname = current_database() and application_name = ${applicationName}
      and state = 'active' and wait_event = 'ClientRead'
  `
  await until(async () => (await find()).length > 0)
}

/**
 * Locks both rows. The server ends a session with a delay, so this waits as long as a statement
 * may.
 */
async function lockBoth(sql: Sql): Promise<number> {
  return (await sql`select from rows for update`).length
}

async function isLocked(sql: Sql): Promise<boolean> {
  const rows = await sql`select from rows where id = 1 for update skip locked`
  return rows.length === 0
}

describe('a stalled session of the service', () => {
  test.each(['atomic-payments api', 'atomic-payments worker', 'atomic-payments worker jobs'])(
    'named %s is ended after the time limit, which releases its locks',
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

test('does not end sessions of other programs', async () => {
  const stalled = await stall('atomic-payments reconcile')

  expect(await endStalledSessions(sweeper.sql, 0)).toBe(0)

  expect(await isLocked(store.sql)).toBe(true)
  await stalled.release()
  expect(await lockBoth(store.sql)).toBe(2)
  await stalled.close()
})

test('does not end sessions that work, wait for a lock or are idle', async () => {
  const other = openStore({
    url: database.url,
    applicationName: 'atomic-payments api',
    poolSize: 3,
    timeoutMs: 60_000,
  })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: locked, resolve: lock } = Promise.withResolvers<void>()
  const locking = other.sql.begin(async (tx) => {
    await tx`select from rows for update`
    lock()
    await released
  })
  await locked
  const waiting = other.sql`update rows set id = id`.then(() => 'done')
  const working = other.sql`select pg_sleep(0.2)`.then(() => 'done')
  await store.sql`select pg_sleep(0.05)`

  expect(await endStalledSessions(sweeper.sql, 0)).toBe(0)

  release()
  await locking
  expect(await Promise.all([waiting, working])).toEqual(['done', 'done'])
  await other.close()
})

test('restores the role of the service afterwards', async () => {
  await endStalledSessions(sweeper.sql, 0)

  const [row] = await sweeper.sql`select current_user::text as role`
  expect(row).toEqual({ role: SERVICE_ROLE })
})
