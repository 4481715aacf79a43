import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import {
  createJobWaker,
  createIdleAnnouncer,
  IDLE_CHANNEL,
} from '../../../src/db/connection/notifications.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../reservations.ts'

let database: TestDatabase
let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

function failOn(error: unknown): never {
  throw error
}

/** Listens, and gathers what is announced from now on until it is enough. */
async function hear(isEnough: (payloads: string[]) => boolean) {
  const heard: string[] = []
  const { promise, resolve } = Promise.withResolvers<string[]>()
  await store.sql.listen(IDLE_CHANNEL, (payload) => {
    heard.push(payload)
    if (isEnough(heard)) resolve(heard)
  })
  return { payloads: promise }
}

const idsOf = (payloads: string[]) => payloads.flatMap((payload) => payload.split(','))

test('operations that settle together are announced together', async () => {
  const ids = Array.from({ length: 20 }, () => randomUUID())
  const announce = createIdleAnnouncer(store.sql, failOn)
  const { payloads } = await hear((heard) => idsOf(heard).length >= ids.length)

  ids.forEach((id) => announce(id))

  expect(await payloads).toEqual([ids.join(',')])
})

test('more operations than a notification can carry are announced in several', async () => {
  const ids = Array.from({ length: 450 }, () => randomUUID())
  const announce = createIdleAnnouncer(store.sql, failOn)
  const { payloads } = await hear((heard) => idsOf(heard).length >= ids.length)

  ids.forEach((id) => announce(id))

  expect(await payloads).toHaveLength(3)
  expect(idsOf(await payloads)).toEqual(ids)
})

test('an operation that settles later is announced by itself', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  const announce = createIdleAnnouncer(store.sql, failOn)
  const { payloads } = await hear((heard) => {
    if (heard.length === 1) announce(second)
    return heard.length === 2
  })

  announce(first)

  expect(await payloads).toEqual([first, second])
})

test.each([
  ['an announcement', createIdleAnnouncer],
  ['a wake-up', createJobWaker],
])('%s that cannot be sent is told to the caller, not thrown', async (_, create) => {
  const closed = openTestStore(database.url)
  await closed.close()
  const { promise, resolve } = Promise.withResolvers<unknown>()

  create(closed.sql, resolve)(randomUUID())

  expect(await promise).toMatchObject({ code: 'CONNECTION_ENDED' })
})
