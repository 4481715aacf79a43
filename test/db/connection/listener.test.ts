// Tests the connection that listens: one for all channels, which notices a server that went silent.
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { startCuttableRelay, type CuttableRelay } from '../../support/cuttable-relay.ts'
import { until } from '../../support/until.ts'
import { openTestStore } from '../reservations.ts'

let database: TestDatabase
let relay: CuttableRelay
/** Listens through the relay. */
let store: Store
/** Connects past it. */
let direct: Store
let received: string[]

beforeEach(async () => {
  database = await createTestDatabase()
  const url = new URL(database.url)
  relay = await startCuttableRelay(() => Number(url.port))
  direct = openTestStore(database.url)
  store = openTestStore(relay.to(url))
  received = []
})
afterEach(async () => {
  await Promise.all([store.close(), direct.close()])
  await relay.close()
  await database.drop()
})

/** Listens on a channel, and returns the states of listening so far. */
function listen(channel: string): boolean[] {
  const states: boolean[] = []
  store.listen(
    channel,
    (payload) => received.push(`${channel}: ${payload}`),
    (isListening) => states.push(isListening),
  )
  return states
}

async function listeningPids(): Promise<number[]> {
  const rows = await direct.sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and query ilike 'listen %'
  `
  return rows.map(({ pid }) => pid)
}

test('listens on all channels over one connection', async () => {
  const [first, second] = [listen('first'), listen('second')]
  await until(() => first[0] && second[0])
  const third = listen('third')
  await until(() => third[0])

  for (const channel of ['first', 'second', 'third'])
    await direct.sql`select pg_notify(${channel}, 'news')`
  await until(() => received.length === 3)

  expect(received).toEqual(['first: news', 'second: news', 'third: news'])
  expect(await listeningPids()).toHaveLength(1)
})

test('connects again when the connection is lost, and tells each channel', async () => {
  const [first, second] = [listen('first'), listen('second')]
  await until(() => first[0] && second[0])
  const [pid = 0] = await listeningPids()

  await direct.sql`select pg_terminate_backend(${pid})`
  await until(() => first.length === 3 && second.length === 3)
  await direct.sql`select pg_notify('second', 'news')`
  await until(() => received.length === 1)

  expect(first).toEqual([true, false, true])
  expect(received).toEqual(['second: news'])
})

test('notices within seconds that the server went silent', async () => {
  const states = listen('first')
  await until(() => states[0])

  relay.cut()
  const cutAtMs = performance.now()
  await until(() => states[1] === false)
  const noticedAfterMs = performance.now() - cutAtMs
  // The connection that is lost stays open for the server: only new ones reach it.
  relay.acceptNew()
  await until(() => states[2])
  await direct.sql`select pg_notify('first', 'news')`
  await until(() => received.length > 0)

  expect(noticedAfterMs).toBeLessThan(8_000)
})

/** The time in which a connection is made, in steps of half a millisecond. */
const MOMENTS = 60

function ignore(): void {}

// A promise that is left behind and rejects would end the process as if it had failed.
test('can be closed at any time, also while it connects', async () => {
  const lost: unknown[] = []
  const keep = (error: unknown) => void lost.push(error)
  process.on('unhandledRejection', keep)
  for (let moment = 0; moment < MOMENTS; moment += 1) {
    const closing = openTestStore(database.url, 1)
    closing.listen('anything', ignore, ignore)
    await delay(moment / 2)
    await closing.close()
  }
  process.off('unhandledRejection', keep)

  expect(lost).toEqual([])
})
