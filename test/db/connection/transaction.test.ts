import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Store, Transaction } from '../../../src/db/connection/client.ts'
import { isStoreUnavailable } from '../../../src/db/connection/store-errors.ts'
import { inTransaction, thenCommit, together } from '../../../src/db/connection/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'
import { startCuttableRelay, type CuttableRelay } from '../../support/cuttable-relay.ts'

let database: TestDatabase
let admin: Store
let relay: CuttableRelay
let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
  admin = openTestStore(database.url, 1)
  await admin.sql`create table marks (mark text)`
  await admin.sql`create sequence numbers`
})

// The store's connections go through a proxy, so that a test can cut them.
beforeEach(async () => {
  const url = new URL(database.url)
  relay = await startCuttableRelay(() => Number(url.port))
  store = openTestStore(relay.to(url))
})

afterEach(async () => {
  // The driver would wait for the end of the lost transaction.
  await store.sql.end({ timeout: 0 })
  await relay.close()
  await admin.sql`truncate marks`
})

afterAll(async () => {
  await admin.close()
  await database.drop()
})

const marks = async () => (await admin.sql`select mark from marks`).map((row) => row['mark'])

async function terminate(tx: Transaction): Promise<void> {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
  await admin.sql`select pg_terminate_backend(${row?.pid ?? 0})`
}

test('commits when the work resolves, and returns its result', async () => {
  const result = await inTransaction(store.sql, async (tx) => {
    await tx`insert into marks values ('kept')`
    return 'done'
  })

  expect(result).toBe('done')
  expect(await marks()).toEqual(['kept'])
})

test('rolls back when the work rejects, and reuses the connection', async () => {
  const work = inTransaction(store.sql, async (tx) => {
    await tx`insert into marks values ('dropped')`
    throw new Error('changed my mind')
  })

  await expect(work).rejects.toThrow('changed my mind')
  expect(await marks()).toEqual([])
  expect(await store.sql`select 1 as one`).toEqual([{ one: 1 }])
})

test('ends when all statements that left together are answered, also if one of them fails', async () => {
  const made: unknown[] = []
  const makeLate = async (tx: Transaction) => {
    await tx`select pg_sleep(0.05)`
    made.push(...(await tx`insert into marks values ('late') returning mark`))
  }
  const work = inTransaction(store.sql, (tx) =>
    together([Promise.reject(new Error('one of them')), makeLate(tx)]),
  )

  await expect(work).rejects.toThrow('one of them')
  expect(made).toEqual([{ mark: 'late' }])
  expect(await marks()).toEqual([])
})

test('rejects with the error of the statement that failed, not of one that was refused behind it', async () => {
  const work = inTransaction(store.sql, (tx) => {
    const readTwice = async () => {
      await tx`select pg_sleep(0)`
      return await tx`select 1`
    }
    const fail = async () => void (await tx`select 1 / 0`)
    return together([readTwice(), together([readTwice(), fail()])])
  })

  await expect(work).rejects.toMatchObject({ code: '22012' })
})

test('sends what leaves together in its order', async () => {
  const order = await inTransaction(store.sql, async (tx) => {
    const number = async () => {
      const [row] = await tx<{ value: string }[]>`select nextval('numbers') as value`
      return Number(row?.value)
    }
    const later = async () => await together([number(), number()])
    return await together([number(), later(), number()])
  })

  expect(order).toEqual([1, [2, 3], 4])
})

test.each(['resolved', 'rejected'])('sends nothing when the work has %s', async (how) => {
  const late: (() => unknown)[] = []
  const work = inTransaction(store.sql, async (tx) => {
    late.push(() => tx`insert into marks values ('late')`)
    if (how === 'rejected') throw new Error('changed my mind')
  })
  await work.catch(() => undefined)

  expect(late[0]).toThrow('a statement without its transaction')
})

const insert = async (tx: Transaction, mark: string) => await tx`insert into marks values (${mark})`

test('commits behind its last statements, and refuses one after them', async () => {
  const work = inTransaction(store.sql, async (tx) => {
    await thenCommit(tx, [insert(tx, 'first'), insert(tx, 'second')])
    await insert(tx, 'late')
  })

  await expect(work).rejects.toThrow('a statement without its transaction')
  expect(await marks()).toEqual(['first', 'second'])
})

test('keeps nothing when one of the last statements fails', async () => {
  const work = inTransaction(store.sql, async (tx) => {
    const fail = async () => await tx`select 1 / 0`
    await thenCommit(tx, [insert(tx, 'before'), fail(), insert(tx, 'behind')])
  })

  await expect(work).rejects.toMatchObject({ code: '22012' })
  expect(await marks()).toEqual([])
  expect(await store.sql`select 1 as one`).toEqual([{ one: 1 }])
})

test.each([
  ['the server ends it', terminate],
  ['the network cuts it', async () => relay.reset()],
])('rejects as unavailable when %s, and the process survives', async (_how, lose) => {
  const work = inTransaction(store.sql, async (tx) => {
    await tx`insert into marks values ('lost')`
    await Promise.all([lose(tx), tx`select pg_sleep(10)`, tx`select ${'x'}::text`])
  })

  const error: unknown = await work.catch((reason: unknown) => reason)

  expect(isStoreUnavailable(error)).toBe(true)
  expect(await marks()).toEqual([])
  expect(await store.sql`select 1 as one`).toEqual([{ one: 1 }])
})
