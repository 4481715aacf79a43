import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import {
  createJobWaker,
  createIdleAnnouncer,
  IDLE_CHANNEL,
} from '../../../src/db/connection/notifications.ts'
import { openTestStore } from '../reservations.ts'
import { database, store } from '../../support/own-store.ts'

function failOn(error: unknown): never {
  throw error
}

/** Listens, and collects the payloads from now on until they are enough. */
async function collect(isEnough: (payloads: string[]) => boolean) {
  const heard: string[] = []
  const { promise, resolve } = Promise.withResolvers<string[]>()
  const hear = (payload: string) => {
    heard.push(payload)
    if (isEnough(heard)) resolve(heard)
  }
  await new Promise((listening) => store.listen(IDLE_CHANNEL, hear, listening))
  return { payloads: promise }
}

const idsOf = (payloads: string[]) => payloads.flatMap((payload) => payload.split(','))

test('announces operations that become idle together in one notification', async () => {
  const ids = Array.from({ length: 20 }, () => randomUUID())
  const announce = createIdleAnnouncer(store.sql, failOn)
  const { payloads } = await collect((heard) => idsOf(heard).length >= ids.length)

  ids.forEach((id) => announce(id))

  expect(await payloads).toEqual([ids.join(',')])
})

test('announces more operations than fit into a notification in several', async () => {
  const ids = Array.from({ length: 450 }, () => randomUUID())
  const announce = createIdleAnnouncer(store.sql, failOn)
  const { payloads } = await collect((heard) => idsOf(heard).length >= ids.length)

  ids.forEach((id) => announce(id))

  expect(await payloads).toHaveLength(3)
  expect(idsOf(await payloads)).toEqual(ids)
})

test('announces a later operation separately', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  const announce = createIdleAnnouncer(store.sql, failOn)
  const { payloads } = await collect((heard) => {
    if (heard.length === 1) announce(second)
    return heard.length === 2
  })

  announce(first)

  expect(await payloads).toEqual([first, second])
})

test.each([
  ['an announcement', createIdleAnnouncer],
  ['a wake-up', createJobWaker],
])('reports %s that cannot be sent to the caller', async (_, create) => {
  const closed = openTestStore(database.url)
  await closed.close()
  const { promise, resolve } = Promise.withResolvers<unknown>()

  create(closed.sql, resolve)(randomUUID())

  expect(await promise).toMatchObject({ code: 'CONNECTION_ENDED' })
})
