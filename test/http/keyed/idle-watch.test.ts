// What releases requests that wait for an operation.
import { randomUUID } from 'node:crypto'
import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import pino from 'pino'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import type { Claim } from '../../../src/db/operations/leases.ts'
import { finishIfOwner } from '../../support/record-phase.ts'
import { IDLE_CHANNEL } from '../../../src/db/connection/notifications.ts'
import { startIdleWatch, type IdleWatch } from '../../../src/http/keyed/idle-watch.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { claimedOperation, RETENTION_SECONDS } from '../../db/reservations.ts'
import { fakeOnly } from '../../support/fake-timers.ts'
import { store } from '../../support/own-store.ts'
import { watchSql } from '../../support/watched-sql.ts'

/** Longer than any test, so that no request is released by its timeout. */
const LONG_MS = 600_000
const NEVER = new AbortController().signal

let watch: IdleWatch
/** The number of lookups of the watch. */
let lookUps: number
/** The error of the next lookup. */
let failure: Error | undefined

beforeEach(async () => {
  // The tests trigger the lookups.
  fakeOnly('intervals')
  failure = undefined
  await new Promise<void>((resolve) => {
    const listen: Store['listen'] = (channel, onNotify, onListening) =>
      store.listen(channel, onNotify, (isListening) => {
        onListening(isListening)
        if (isListening) resolve()
      })
    watch = startIdleWatch({ sql: observed(store.sql), listen }, pino({ level: 'silent' }))
  })
  lookUps = 0
})
afterEach(() => {
  watch.stop()
  jest.useRealTimers()
})
/** The same connection, but its lookups are counted and fail when a test wants it. */
function observed(sql: Sql): Sql {
  return watchSql(sql, (text, make) => {
    // Others are parts of the statement.
    if (!/^\s*select/.test(text)) return make()
    lookUps += 1
    const error = failure
    failure = undefined
    return error === undefined ? make() : Promise.reject(error)
  })
}

function lookUp(times = 1): void {
  jest.advanceTimersByTime(times * 250)
}

/** A reference to an operation that does not exist. */
function unknownOperation(): OperationRef {
  return { tenantId: randomUUID(), id: randomUUID() }
}

async function notify(payload: string): Promise<void> {
  await store.sql`select pg_notify(${IDLE_CHANNEL}, ${payload})`
}

async function announce(...refs: OperationRef[]): Promise<void> {
  await notify(refs.map(({ id }) => id).join(','))
}

async function finish(claim: Claim): Promise<void> {
  const response = { status: 201, headers: {}, body: '{}' }
  await finishIfOwner(store.sql, claim, response, RETENTION_SECONDS)
}

/** Whether a promise is still pending after all due callbacks have run. */
async function isWaiting(waiting: Promise<unknown>): Promise<boolean> {
  const released = waiting.then(() => false)
  return Promise.race([released, new Promise<true>((done) => setImmediate(done, true))])
}

describe('a waiting request is released', () => {
  test('by an announcement, together with all others that wait for the same operation', async () => {
    const [one, other] = [unknownOperation(), unknownOperation()]
    const first = watch.wait(one, LONG_MS, NEVER)
    const second = watch.wait(one, LONG_MS, NEVER)
    const otherWaiter = watch.wait(other, LONG_MS, NEVER)

    await announce(one)

    await Promise.all([first, second])
    expect(await isWaiting(otherWaiter)).toBe(true)
  })

  test('with the announced operation, which one statement reads for all', async () => {
    const claims = [await claimedOperation(store), await claimedOperation(store)]
    const waiting = [...claims, ...claims].map((claim) => watch.wait(claim, LONG_MS, NEVER))
    await Promise.all(claims.map(finish))

    await announce(...claims)

    const keys = await Promise.all(waiting)
    expect(keys.map((key) => key?.id)).toEqual([...claims, ...claims].map(({ id }) => id))
    expect(keys).toEqual(keys.map(() => expect.objectContaining({ status: 'completed' })))
    expect(lookUps).toBe(1)
  })

  test('with undefined when the announced operation cannot be read', async () => {
    const claim = await claimedOperation(store)
    const waiting = watch.wait(claim, LONG_MS, NEVER)
    failure = new Error('the store is out of reach')

    await announce(claim)

    await expect(waiting).resolves.toBeUndefined()
  })

  test('by the lookup when the announcement was lost', async () => {
    const claim = await claimedOperation(store)
    const waiting = watch.wait(claim, LONG_MS, NEVER)
    await finish(claim)

    lookUp()

    await expect(waiting).resolves.toMatchObject({ id: claim.id, status: 'completed' })
  })

  test('by a later lookup when one has failed', async () => {
    const claim = await claimedOperation(store)
    await finish(claim)
    const waiting = watch.wait(claim, LONG_MS, NEVER)
    failure = new Error('the store is out of reach')
    lookUp()
    expect(await isWaiting(waiting)).toBe(true)

    lookUp()

    await expect(waiting).resolves.toMatchObject({ id: claim.id, status: 'completed' })
  })

  test('by its own signal, without the others', async () => {
    const ref = unknownOperation()
    const leaving = new AbortController()
    const left = watch.wait(ref, LONG_MS, leaving.signal)
    const staying = watch.wait(ref, LONG_MS, NEVER)

    leaving.abort()

    await expect(left).resolves.toBeUndefined()
    expect(await isWaiting(staying)).toBe(true)
  })
})

describe('a request does not wait at all', () => {
  test('after the watch was stopped', async () => {
    watch.stop()

    await expect(watch.wait(unknownOperation(), LONG_MS, NEVER)).resolves.toBeUndefined()
  })

  test.each([
    ['no time', 0, NEVER],
    ['less than no time', -1, NEVER],
    ['a client that is gone', LONG_MS, AbortSignal.abort()],
  ])('with %s', async (_, timeoutMs, signal) => {
    await expect(watch.wait(unknownOperation(), timeoutMs, signal)).resolves.toBeUndefined()
  })
})

test('a request continues to wait while a lookup finds its operation in progress', async () => {
  const claim = await claimedOperation(store)
  const idleClaim = await claimedOperation(store)
  await finish(idleClaim)
  const waiting = watch.wait(claim, LONG_MS, NEVER)
  const other = watch.wait(idleClaim, LONG_MS, NEVER)

  lookUp()

  await other
  expect(await isWaiting(waiting)).toBe(true)
})

describe('looking up', () => {
  test('reads all awaited operations in one statement', async () => {
    const finished = await claimedOperation(store)
    await finish(finished)
    const refs = [unknownOperation(), unknownOperation(), unknownOperation()]
    refs.forEach((ref) => void watch.wait(ref, LONG_MS, NEVER))
    refs.forEach((ref) => void watch.wait(ref, LONG_MS, NEVER))
    const released = watch.wait(finished, LONG_MS, NEVER)

    lookUp()

    expect((await released)?.id).toBe(finished.id)
    expect(lookUps).toBe(1)
  })

  test('runs no statement while no request waits', async () => {
    lookUp(10)
    await store.sql`select 1`

    expect(lookUps).toBe(0)
  })

  const ways: [string, (claim: Claim, leaving: AbortController) => Promise<void>][] = [
    ['an announcement', (claim) => announce(claim)],
    ['a lookup', async (claim) => finish(claim).then(() => lookUp())],
    ['its signal', async (_, leaving) => leaving.abort()],
    ['the end of the watch', async () => watch.stop()],
  ]

  test.each(ways)(
    'stops looking up an operation after %s released its request',
    async (_, release) => {
      const claim = await claimedOperation(store)
      const leaving = new AbortController()
      const waiting = watch.wait(claim, LONG_MS, leaving.signal)
      await release(claim, leaving)
      await waiting
      lookUps = 0

      lookUp(10)
      await store.sql`select 1`

      expect(lookUps).toBe(0)
      expect(getEventListeners(leaving.signal, 'abort')).toEqual([])
    },
  )
})
