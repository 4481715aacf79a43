// Tests the pool on a real server: which connection a statement takes, that transactions are alone on
// theirs, and that lost and silent connections are replaced.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import {
  arrayTypes,
  openStore,
  type Sql,
  type Store,
  type StoreOptions,
} from '../../../../src/db/connection/client.ts'
import { allowLongStatements, inTransaction } from '../../../../src/db/connection/transaction.ts'
import { findFreePort } from '../../../../dev/ports.ts'
import { startCuttableRelay } from '../../../support/cuttable-relay.ts'
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts'
import { readDatabase } from '../../../../src/db/connection/driver.ts'
import { Session } from '../../../../src/db/connection/pool/session.ts'
import type { SessionSettings } from '../../../../src/db/connection/pool/session-settings.ts'

const SIZE = 3

/** More than the limit of the driver's own pool. */
const MANY = 150

/** Also the time to connect: a new session gets twice this time for all that comes before. */
const STATEMENT_MS = 600

const LOST = /57P01|CONNECTION_CLOSED/

let database: TestDatabase
let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
})
beforeEach(() => {
  store = open(SIZE)
})
afterEach(async () => {
  for (const opened of stores.splice(0)) await opened.close()
})
afterAll(() => database.drop())

/** All that a test has opened. */
const stores: Store[] = []

function open(poolSize: number, own: Partial<StoreOptions> = {}): Store {
  const options = { url: database.url, applicationName: 'test pool', poolSize, timeoutMs: 10_000 }
  const opened = openStore({ ...options, ...own })
  stores.push(opened)
  return opened
}

/** The server process that executes the next statement. */
async function nextBackend(): Promise<number> {
  const [row] = await store.sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row?.pid ?? 0
}

function backends(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, nextBackend))
}

/** Holds an advisory lock until it is released. */
async function holdLock(holder: Store, lock: number) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: locked, resolve: confirm } = Promise.withResolvers<void>()
  const holding = holder.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${lock})`
    confirm()
    await released
  })
  await locked
  return {
    async release() {
      release()
      await holding
    },
  }
}

test('executes concurrent statements on all connections', async () => {
  expect(new Set(await backends(SIZE * 4)).size).toBe(SIZE)
})

test('uses the same connection for sequential statements', async () => {
  const pids = new Set<number>()
  for (let number = 0; number < SIZE * 2; number += 1) pids.add(await nextBackend())

  expect(pids.size).toBe(1)
})

test.each([
  ['statements', (sql: Sql) => sql`select pg_advisory_xact_lock(2)`],
  ['transactions', (sql: Sql) => sql.begin((tx) => tx`select pg_advisory_xact_lock(2)`)],
])('the %s of one tenant leave connections to others', async (_, wait) => {
  const holder = open(1)
  const lock = await holdLock(holder, 2)
  const waiting = Array.from({ length: MANY }, async () => await wait(store.ofTenant('greedy')))

  const other = store.ofTenant('other')
  const pids = new Set<number>()
  for (let number = 0; number < SIZE; number += 1) {
    const [row] = await other<{ pid: number }[]>`select pg_backend_pid() as pid`
    pids.add(row?.pid ?? 0)
  }
  await lock.release()

  expect(pids.size).toBe(1)
  expect(await Promise.all(waiting)).toHaveLength(MANY)
  // Nothing is left of the share.
  expect(new Set(await backends(SIZE)).size).toBe(SIZE)
})

test('gives a transaction its connection exclusively', async () => {
  const used = await store.sql.begin(async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    expect(await backends(SIZE * 4)).not.toContain(row?.pid)
    return row?.pid
  })

  expect(await backends(SIZE)).toContain(used)
})

test('starts a transaction behind any number of statements', async () => {
  const single = open(1)
  const statements = Array.from({ length: MANY }, () => single.sql`select 1 as one`)
  const transaction = single.sql.begin(async (tx) => (await tx`select 2 as two`).length)

  expect(await transaction).toBe(1)
  expect((await Promise.all(statements)).flat()).toHaveLength(MANY)
})

test('accepts identifiers, lists and parts in statements', async () => {
  const { sql } = store
  const part = sql`select ${1}::integer as one`

  expect(await sql`${part}, ${2}::integer as ${sql('two')}`).toEqual([{ one: 1, two: 2 }])
  const more = [sql`, 3 as three`, sql`, ${4}::integer as four`]
  expect(await sql`${part} ${more}`).toEqual([{ one: 1, three: 3, four: 4 }])
  expect(await sql.begin((tx) => tx`${part} ${more}`)).toEqual([{ one: 1, three: 3, four: 4 }])
  expect(await sql.unsafe('select $1::text as text', ['x'])).toEqual([{ text: 'x' }])
})

test('sends and returns arrays', async () => {
  const texts = ['plain', 'a "quoted", {braced} one', 'back\\slash', '', 'NULL', null]
  const ids = ['0191a7c2-6f3e-7cc0-9f5e-1b2d3c4e5f60']

  const [row] = await store.sql`
    select ${texts}::text[] as texts, ${ids}::uuid[] as ids, ${[1.5, 2]}::float8[] as numbers,
      array[]::text[] as nothing
  `
  expect(row).toEqual({ texts, ids, numbers: [1.5, 2], nothing: [] })
  expect(await store.sql`select ${'{a,b}'}::text[] as texts`).toEqual([{ texts: ['a', 'b'] }])
})

test('releases the connection of a failed statement', async () => {
  const failing = Array.from({ length: SIZE * 2 }, () => store.sql`select 1 / 0`)
  const results = await Promise.allSettled(failing)
  expect(results.map(({ status }) => status)).toEqual(failing.map(() => 'rejected'))

  const pids = await backends(SIZE)
  expect(new Set(pids).size).toBe(SIZE)
})

test('reports each statement and transaction that the store could not serve, and no bug', async () => {
  const kinds: string[] = []
  const observed = open(1, { failed: (kind) => kinds.push(kind) })
  const failing = [
    () => observed.sql`select pg_terminate_backend(pg_backend_pid())`,
    () =>
      observed.sql.begin(async (tx) => {
        await tx`set local statement_timeout = 20`
        await tx`select pg_sleep(60)`
      }),
    () => observed.sql`select 1 / 0`,
  ]

  for (const run of failing) await expect(run()).rejects.toThrow()

  expect(kinds).toEqual(['unreachable', 'timeout'])
})

test('replaces a lost connection for the next statement', async () => {
  const pid = await nextBackend()
  const ending = store.sql`select pg_terminate_backend(pg_backend_pid())`
  await expect(ending).rejects.toMatchObject({ code: expect.stringMatching(LOST) as unknown })

  expect(await nextBackend()).not.toBe(pid)
})

test('replaces a session that could not be opened', async () => {
  const url = new URL(database.url)
  const nothing = await findFreePort()
  let isAway = true
  const relay = await startCuttableRelay(() => (isAway ? nothing : Number(url.port)))
  const away = open(1, { url: relay.to(url) })

  await expect(away.sql`select 1`).rejects.toThrow()
  isAway = false
  expect(await away.sql`select 1 as one`).toEqual([{ one: 1 }])

  await relay.close()
})

test.each<[string, (sql: Sql, silence: () => void) => Promise<unknown>]>([
  [
    'a statement alone',
    async (sql, silence) => {
      silence()
      await sql`select 2`
    },
  ],
  [
    'in a transaction',
    (sql, silence) =>
      inTransaction(sql, async (tx) => {
        silence()
        await tx`select 2`
      }),
  ],
  [
    'in a transaction after its statements, when it commits',
    (sql, silence) =>
      inTransaction(sql, async (tx) => {
        await tx`select 2`
        silence()
      }),
  ],
])('replaces a silent connection after twice the statement timeout: %s', async (_title, work) => {
  const url = new URL(database.url)
  const relay = await startCuttableRelay(() => Number(url.port))
  const silent = open(1, { url: relay.to(url), timeoutMs: STATEMENT_MS })
  const silence = () => {
    relay.cut()
    relay.acceptNew()
  }
  try {
    await silent.sql`select 1`

    await expect(work(silent.sql, silence)).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    expect(await silent.sql`select 3 as three`).toEqual([{ three: 3 }])
  } finally {
    await relay.close()
  }
})

test('does not replace the connection of a transaction that may have long statements', async () => {
  const single = open(1, { timeoutMs: STATEMENT_MS })

  const rows = await inTransaction(single.sql, async (tx) => {
    await allowLongStatements(tx)
    return await tx`select 1 as one from pg_sleep(1.5)`
  })

  expect(rows).toEqual([{ one: 1 }])
})

test('serves work in the order in which it comes', async () => {
  const single = open(1)
  const done: number[] = []
  const work = [1, 2, 3].map((number) =>
    number === 2
      ? single.sql.begin(async (tx) => {
          await tx`select pg_sleep(0.02)`
          done.push(number)
        })
      : single.sql`select pg_sleep(0.02)`.then(() => done.push(number)),
  )

  await Promise.all(work)

  expect(done).toEqual([1, 2, 3])
})

test('lets a statement wait behind a transaction', async () => {
  const single = open(1, { timeoutMs: STATEMENT_MS })
  const transaction = single.sql.begin(async (tx) => {
    await allowLongStatements(tx)
    return (await tx`select 1 as one from pg_sleep(1.5)`).length
  })
  const behind = single.sql`select 2 as two`

  expect(await transaction).toBe(1)
  expect(await behind).toEqual([{ two: 2 }])
})

test('keeps listening when the connections of statements are lost', async () => {
  const { promise: heard, resolve: hear } = Promise.withResolvers<string>()
  const { promise: listening, resolve: listen } = Promise.withResolvers<boolean>()
  store.listen('news', hear, listen)
  await listening
  const ending = Array.from(
    { length: SIZE },
    () => store.sql`select pg_terminate_backend(pg_backend_pid())`,
  )
  await Promise.allSettled(ending)

  await store.sql`select pg_notify('news', 'is here')`
  expect(await heard).toBe('is here')
})

test('refuses statements after it is closed', async () => {
  await backends(SIZE)
  await store.close()

  await expect(nextBackend()).rejects.toThrow('CONNECTION_ENDED')
})

describe('a session', () => {
  const sessions: Session[] = []

  afterEach(() => {
    for (const opened of sessions.splice(0)) opened.lose()
  })

  function session(settings: SessionSettings = {}): Session {
    const parameters = readDatabase(database.url, 10_000)
    const opened = new Session(parameters, { types: arrayTypes }, settings)
    sessions.push(opened)
    return opened
  }

  test('says which role the log-in role may not have', async () => {
    await expect(session({ role: 'no_such_role' }).executeText('select 1')).rejects.toThrow(
      'The session could not be set up: role "no_such_role" does not exist.',
    )
  })

  test('executes nothing after its end, and does not connect again', async () => {
    const ended = session({ statement_timeout: 5_000 })
    const [row] = (await ended.executeText('select pg_backend_pid() as pid')) as { pid: number }[]
    const other = session()

    await other.executeText('select pg_terminate_backend($1, 5000)', [row?.pid ?? 0])
    await expect(ended.executeText('create table kept (id int)')).rejects.toThrow()

    expect(ended.isOver).toBe(true)
    await expect(ended.executeText('create table kept (id int)')).rejects.toMatchObject({
      code: 'CONNECTION_ENDED',
    })
    expect(await other.executeText(`select to_regclass('kept') as found`)).toEqual([
      { found: null },
    ])
  })
})
