// Requests that wait for an operation: what releases them, and that nothing is kept of them afterwards.
import { randomUUID } from 'node:crypto'
import { getEventListeners } from 'node:events'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  jest,
  test,
} from '@jest/globals'
import pino from 'pino'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import type { Claim } from '../../../src/db/operations/leases.ts'
import { finishIfOwner } from '../../../src/db/operations/phase-records.ts'
import { IDLE_CHANNEL } from '../../../src/db/connection/notifications.ts'
import { startIdleWatch, type IdleWatch } from '../../../src/http/keyed/idle-watch.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { claimedOperation, openTestStore, RETENTION_SECONDS } from '../../db/reservations.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { fakeOnly } from '../../support/fake-timers.ts'

/** Longer than any test: whoever is released before that was not released by the time. */
const LONG_MS = 600_000
const NEVER = new AbortController().signal

let database: TestDatabase
let store: Store
let watch: IdleWatch
/** How often the watch has looked up. */
let lookUps: number
/** What the next look-up fails with. */
let failure: Error | undefined

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
})
beforeEach(async () => {
  // The look-ups happen when a test says so.
  fakeOnly('intervals')
  failure = undefined
  watch = startIdleWatch(observed(store.sql), pino({ level: 'silent' }))
  // On the same connection as the watch, and after it: when this listens, so does the watch.
  await store.sql.listen(IDLE_CHANNEL, () => {})
  lookUps = 0
})
afterEach(async () => {
  await watch.stop()
  jest.useRealTimers()
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

/** The same connection, whose statements are counted, and fail when a test wants it. */
function observed(sql: Sql): Sql {
  return new Proxy(sql, {
    apply(target, thisArgument, parts: [TemplateStringsArray, ...unknown[]]) {
      // All else is a part of it.
      if (!/^\s*select/.test(parts[0][0] ?? '')) {
        return Reflect.apply(target, thisArgument, parts) as unknown
      }
      lookUps += 1
      const error = failure
      failure = undefined
      if (error !== undefined) return Promise.reject(error)
      return Reflect.apply(target, thisArgument, parts) as unknown
    },
  })
}

function lookUp(times = 1): void {
  jest.advanceTimersByTime(times * 250)
}

/** An operation that no look-up finds. */
function someone(): OperationRef {
  return { tenantId: randomUUID(), id: randomUUID() }
}

async function announce(...refs: OperationRef[]): Promise<void> {
  await store.sql.notify(IDLE_CHANNEL, refs.map(({ id }) => id).join(','))
}

async function finish(claim: Claim): Promise<void> {
  const response = { status: 201, headers: {}, body: '{}' }
  await finishIfOwner(store.sql, claim, response, RETENTION_SECONDS)
}

/** Whether a promise is still open after everything that is due has run. */
async function isWaiting(waiting: Promise<unknown>): Promise<boolean> {
  const released = waiting.then(() => false)
  return Promise.race([released, new Promise<true>((done) => setImmediate(done, true))])
}

describe('a waiting request is released', () => {
  test('by an announcement, with all that wait for the same operation and nobody else', async () => {
    const [one, other] = [someone(), someone()]
    const first = watch.wait(one, LONG_MS, NEVER)
    const second = watch.wait(one, LONG_MS, NEVER)
    const stranger = watch.wait(other, LONG_MS, NEVER)

    await announce(one)

    await Promise.all([first, second])
    expect(await isWaiting(stranger)).toBe(true)
  })

  test('by an announcement of several operations', async () => {
    const refs = [someone(), someone(), someone()]
    const waiting = refs.map((ref) => watch.wait(ref, LONG_MS, NEVER))

    await announce(...refs)

    await expect(Promise.all(waiting)).resolves.toHaveLength(3)
  })

  test('with what was announced, which all of them get by one statement', async () => {
    const claims = [await claimedOperation(store), await claimedOperation(store)]
    const waiting = [...claims, ...claims].map((claim) => watch.wait(claim, LONG_MS, NEVER))
    await Promise.all(claims.map(finish))

    await announce(...claims)

    const told = await Promise.all(waiting)
    expect(told.map((key) => key?.id)).toEqual([...claims, ...claims].map(({ id }) => id))
    expect(told).toEqual(told.map(() => expect.objectContaining({ status: 'completed' })))
    expect(lookUps).toBe(1)
  })

  test('with nothing, when what was announced cannot be read', async () => {
    const held = await claimedOperation(store)
    const waiting = watch.wait(held, LONG_MS, NEVER)
    failure = new Error('the store is out of reach')

    await announce(held)

    await expect(waiting).resolves.toBeUndefined()
  })

  test('by the look-up, when the announcement was lost', async () => {
    const held = await claimedOperation(store)
    const waiting = watch.wait(held, LONG_MS, NEVER)
    await finish(held)

    lookUp()

    await expect(waiting).resolves.toMatchObject({ id: held.id, status: 'completed' })
  })

  test('by the look-up, when the operation was settled before anyone waited', async () => {
    const held = await claimedOperation(store)
    await finish(held)
    const waiting = watch.wait(held, LONG_MS, NEVER)

    lookUp()

    await expect(waiting).resolves.toMatchObject({ id: held.id, status: 'completed' })
  })

  test('by a later look-up, when one has failed', async () => {
    const held = await claimedOperation(store)
    await finish(held)
    const waiting = watch.wait(held, LONG_MS, NEVER)
    failure = new Error('the store is out of reach')
    lookUp()
    expect(await isWaiting(waiting)).toBe(true)

    lookUp()

    await expect(waiting).resolves.toMatchObject({ id: held.id, status: 'completed' })
  })

  test('by its own signal, and nobody with it', async () => {
    const ref = someone()
    const leaving = new AbortController()
    const left = watch.wait(ref, LONG_MS, leaving.signal)
    const staying = watch.wait(ref, LONG_MS, NEVER)

    leaving.abort()

    await expect(left).resolves.toBeUndefined()
    expect(await isWaiting(staying)).toBe(true)
  })

  test('when its time is up', async () => {
    await expect(watch.wait(someone(), 10, NEVER)).resolves.toBeUndefined()
  })

  test('when the watch stops, whoever it waits for', async () => {
    const waiting = [someone(), someone()].map((ref) => watch.wait(ref, LONG_MS, NEVER))

    await watch.stop()

    await expect(Promise.all(waiting)).resolves.toHaveLength(2)
  })
})

describe('a request does not wait at all', () => {
  test.each([
    ['no time', 0, NEVER],
    ['less than no time', -1, NEVER],
    ['a client that has left', LONG_MS, AbortSignal.abort()],
  ])('with %s', async (_, timeoutMs, signal) => {
    await expect(watch.wait(someone(), timeoutMs, signal)).resolves.toBeUndefined()
  })

  test('after the watch was stopped', async () => {
    await watch.stop()

    await expect(watch.wait(someone(), LONG_MS, NEVER)).resolves.toBeUndefined()
  })
})

describe('a request goes on waiting', () => {
  test('while a look-up finds its operation in progress', async () => {
    const held = await claimedOperation(store)
    const settled = await claimedOperation(store)
    await finish(settled)
    const waiting = watch.wait(held, LONG_MS, NEVER)
    const other = watch.wait(settled, LONG_MS, NEVER)

    lookUp()

    await other
    expect(await isWaiting(waiting)).toBe(true)
  })

  test('when others announce what nobody waits for', async () => {
    const ref = someone()
    const marker = someone()
    const waiting = watch.wait(ref, LONG_MS, NEVER)
    const seen = watch.wait(marker, LONG_MS, NEVER)

    await store.sql.notify(IDLE_CHANNEL, '')
    await store.sql.notify(IDLE_CHANNEL, `${randomUUID()},${randomUUID()}`)
    await announce(marker)

    await seen
    expect(await isWaiting(waiting)).toBe(true)
  })
})

describe('looking up', () => {
  test('asks for all that wait in one statement', async () => {
    const refs = [someone(), someone(), someone()]
    refs.forEach((ref) => void watch.wait(ref, LONG_MS, NEVER))
    refs.forEach((ref) => void watch.wait(ref, LONG_MS, NEVER))

    lookUp()

    expect(lookUps).toBe(1)
  })

  test('asks nothing while nobody waits', () => {
    lookUp(10)

    expect(lookUps).toBe(0)
  })

  const ways: [string, (claim: Claim, leaving: AbortController) => Promise<void>][] = [
    ['an announcement', (claim) => announce(claim)],
    ['a look-up', async (claim) => finish(claim).then(() => lookUp())],
    ['its signal', async (_, leaving) => leaving.abort()],
    ['the end of the watch', () => watch.stop()],
  ]

  test.each(ways)('asks nothing more about a request that %s has released', async (_, release) => {
    const held = await claimedOperation(store)
    const leaving = new AbortController()
    const waiting = watch.wait(held, LONG_MS, leaving.signal)
    await release(held, leaving)
    await waiting
    lookUps = 0

    lookUp(10)

    expect(lookUps).toBe(0)
    expect(getEventListeners(leaving.signal, 'abort')).toEqual([])
  })

  test('asks nothing more about a request whose time is up', async () => {
    await watch.wait(someone(), 1, NEVER)
    lookUps = 0

    lookUp(10)

    expect(lookUps).toBe(0)
    expect(getEventListeners(NEVER, 'abort')).toEqual([])
  })
})
