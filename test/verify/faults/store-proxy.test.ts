import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { inTransaction, together } from '../../../src/db/connection/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import type { Point } from '../../../verify/faults/points.ts'
import { openStoreProxy, type StoreProxy } from '../../../verify/faults/store-proxy.ts'
import { Watch, type Action } from '../../../verify/faults/watch.ts'

let database: TestDatabase
let direct: Store
let watch: Watch
let proxy: StoreProxy
let store: Store

const open = (url: string) =>
  openStore({ url, applicationName: 'test', poolSize: 1, timeoutMs: 5_000 })

beforeAll(async () => {
  database = await createTestDatabase()
  direct = open(database.url)
  await direct.sql`create table marks (mark text)`
})

beforeEach(async () => {
  watch = new Watch()
  watch.statements.endLearning()
  const url = new URL(database.url)
  proxy = await openStoreProxy('api', Number(url.port), watch)
  url.port = String(proxy.port)
  store = open(url.href)
  await store.sql`select`
})

afterEach(async () => {
  await store.close()
  proxy.close()
  await direct.sql`delete from marks`
})

afterAll(async () => {
  await direct.close()
  await database.drop()
})

function strikeAt(point: string, verdict: Action): void {
  watch.begin([{ fault: 'any', point }], () => verdict)
}

const mark = () => store.sql`insert into marks values ('made')`

async function marks(): Promise<number> {
  const [row] = await direct.sql<{ count: number }[]>`select count(*)::int as count from marks`
  return row?.count ?? 0
}

test('each message of a statement that is newly prepared is a point, in order', async () => {
  watch.begin([], () => ({ do: 'pass' }))

  await mark()

  expect(watch.points.map(({ label }: Point) => label.replace('api/insert-marks/', ''))).toEqual([
    'Parse#1/before',
    'Parse#1/after',
    'Describe#1/before',
    'Describe#1/after',
    'Bind#1/before',
    'Bind#1/after',
    'Execute#1/before',
    'Execute#1/after',
    'Sync#1/before',
    'Sync#1/after',
    'ParseComplete#1/before',
    'ParameterDescription#1/before',
    'NoData#1/before',
    'BindComplete#1/before',
    'CommandComplete#1/before',
    'ReadyForQuery#1/before',
  ])
})

test.each([
  ['Sync#1/before', 0],
  ['Execute#1/after', 0],
  ['ReadyForQuery#1/before', 1],
])('a connection reset at %s leaves %d rows', async (point, rows) => {
  strikeAt(`api/insert-marks/${point}`, { do: 'reset' })

  await expect(mark()).rejects.toMatchObject({
    code: expect.stringMatching(/ECONNRESET|CONNECTION_CLOSED/) as unknown,
  })

  expect(await marks()).toBe(rows)
  await store.sql`select`
})

test('a refused statement has no effect, and the connection stays open', async () => {
  strikeAt('api/insert-marks/Execute#1/before', {
    do: 'refuse',
    severity: 'ERROR',
    sqlState: '40001',
  })

  await expect(mark()).rejects.toMatchObject({ code: '40001' })
  expect(await marks()).toBe(0)

  await mark()
  expect(await marks()).toBe(1)
})

test('a refusal follows the answers to earlier statements', async () => {
  strikeAt('api/insert-marks/Execute#1/before', {
    do: 'refuse',
    severity: 'ERROR',
    sqlState: '40001',
  })

  // On one connection, which sends statements without waiting for answers.
  const [slept, made, asked] = await Promise.allSettled([
    store.sql`select 'slept' as what from pg_sleep(0.1)`,
    mark(),
    store.sql`select 'asked' as what`,
  ])

  expect(slept).toMatchObject({ status: 'fulfilled', value: [{ what: 'slept' }] })
  expect(made).toMatchObject({ status: 'rejected', reason: { code: '40001' } })
  expect(asked).toMatchObject({ status: 'fulfilled', value: [{ what: 'asked' }] })
})

test('a refusal fails the transaction of its statement, as an error of the server does', async () => {
  strikeAt('api/insert-marks/Execute#1/before', {
    do: 'refuse',
    severity: 'ERROR',
    sqlState: '40001',
  })

  const made = inTransaction(store.sql, (tx) => {
    const insert = async () => void (await tx`insert into marks values ('made')`)
    return together([insert(), insert()])
  })

  await expect(made).rejects.toMatchObject({ code: '40001' })
  expect(await marks()).toBe(0)
  expect(proxy.sqlErrors).toEqual(['25P02'])
  await mark()
  expect(await marks()).toBe(1)
})

test('a refused commit ends its transaction, of which nothing is left', async () => {
  strikeAt('api/commit-insert-marks/Query#1/before', {
    do: 'refuse',
    severity: 'ERROR',
    sqlState: '40001',
  })

  const made = inTransaction(
    store.sql,
    async (tx) => void (await tx`insert into marks values ('no')`),
  )

  await expect(made).rejects.toMatchObject({ code: '40001' })
  await mark()
  expect(await marks()).toBe(1)
})

test('within a transaction, points are what is sent next, sent, and answered', async () => {
  watch.begin([], () => ({ do: 'pass' }))

  await inTransaction(store.sql, async (tx) => {
    await tx`insert into marks values ('first')`
    await tx`update marks set mark = 'second'`
  })

  const behind = watch.points.filter(({ name }) => name !== 'insert-marks')
  expect(behind.map(({ label }: Point) => label)).toEqual([
    'api/update-marks/Execute#1/before',
    'api/update-marks/Sync#1/after',
    'api/update-marks/ReadyForQuery#1/before',
    'api/commit-insert-marks/Query#1/before',
    'api/commit-insert-marks/Query#1/after',
    'api/commit-insert-marks/ReadyForQuery#1/before',
  ])
  expect(watch.points.map(({ label }) => label)).toContain(
    'api/insert-marks/CommandComplete#1/before',
  )
})

test('a fatal refusal ends the connection', async () => {
  strikeAt('api/insert-marks/Parse#1/before', {
    do: 'refuse',
    severity: 'FATAL',
    sqlState: '57P01',
  })

  const code: unknown = expect.stringMatching(/57P01|CONNECTION_CLOSED/)
  await expect(mark()).rejects.toMatchObject({ code })

  // The driver may fail the next statement, too, executed or not. The one after that has a new
  // connection.
  await mark().catch(() => {})
  await mark()
  expect(await marks()).toBeGreaterThanOrEqual(1)
})

test('a stalled connection is silent until it is dropped', async () => {
  strikeAt('api/insert-marks/ReadyForQuery#1/before', { do: 'stall' })
  let isOver = false
  const made = mark().finally(() => {
    isOver = true
  })
  made.catch(() => {})
  // The commit happens before the proxy gets the answer.
  while (watch.injectedAt.length === 0) await marks()
  expect(await marks()).toBe(1)
  expect(isOver).toBe(false)

  proxy.dropStalled()

  await expect(made).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
})

test('statements are prepared again when the prepared connections are dropped', async () => {
  await mark()
  await proxy.dropPrepared()
  watch.begin([], () => ({ do: 'pass' }))

  await mark()

  expect(watch.points.map(({ message }: Point) => message)).toContain('Parse')
})

test('a connection that waits can go on as if nothing had happened', async () => {
  const released = Promise.withResolvers<'pass'>()
  strikeAt('api/insert-marks/Execute#1/before', { do: 'wait', until: released.promise })
  // The driver sends a statement when it is awaited.
  const made = mark().then(() => 'made')
  while (watch.injectedAt.length === 0) await marks()
  expect(await marks()).toBe(0)

  released.resolve('pass')

  expect(await made).toBe('made')
  expect(await marks()).toBe(1)
})

test('a connection that waits can end instead', async () => {
  strikeAt('api/insert-marks/Execute#1/before', { do: 'wait', until: Promise.resolve('end') })

  await expect(mark()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(await marks()).toBe(0)
})

test('records the errors of PostgreSQL itself', async () => {
  await expect(store.sql`select 1 / 0`).rejects.toMatchObject({ code: '22012' })

  expect(proxy.sqlErrors).toEqual(['22012'])
})

test('a proxy that is shut accepts no connection until it is reopened', async () => {
  proxy.shut()
  await expect(store.sql`select 1`).rejects.toMatchObject({
    code: expect.stringMatching(/ECONNRESET|CONNECTION_CLOSED/) as unknown,
  })
  proxy.reopen()

  await store.sql`select 1`
})
