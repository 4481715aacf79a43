// The circuit breaker around the store.
import { describe, expect, test } from '@jest/globals'
import { createStoreBreaker } from '../../../src/http/limits/store-breaker.ts'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { StoreTimeoutError } from '../../../src/db/connection/deadline.ts'
import { postPayment } from '../../support/client.ts'
import { startLimitedApi } from '../../support/limited-api.ts'

const timeOut = () => Promise.reject(new StoreTimeoutError('the store did not answer'))
const succeed = () => Promise.resolve('ok')

/** Resolves with the value, or with the kind of the failure. */
async function resultOf(running: Promise<unknown>): Promise<unknown> {
  return await running.catch((error: unknown) =>
    error instanceof ProblemError ? error.type : (error as Error).name,
  )
}

describe('a store that fails repeatedly', () => {
  test('gets no more statements until one request has tried it', async () => {
    const { reading } = createStoreBreaker({ failures: 3, openMs: 50 })
    let calls = 0
    const runWith = (answer: () => Promise<unknown>) =>
      resultOf(
        reading(() => {
          calls += 1
          return answer()
        }),
      )

    const failed = [await runWith(timeOut), await runWith(timeOut), await runWith(timeOut)]
    const refused = await runWith(succeed)

    expect(failed).toEqual(Array.from({ length: 3 }, () => 'StoreTimeoutError'))
    expect(refused).toBe('store-unavailable')
    expect(calls).toBe(3)

    let result = refused
    while (result === 'store-unavailable') result = await runWith(succeed)
    expect(result).toBe('ok')
    expect(calls).toBe(4)
  })

  test('is tried by one request, and no other request waits for that', async () => {
    const { reading } = createStoreBreaker({ failures: 1, openMs: 1 })
    await resultOf(reading(timeOut))
    let release = (_value: string) => {}
    const slow = () => new Promise<string>((resolve) => (release = resolve))
    // The circuit is open for a millisecond.
    const openedAt = performance.now()
    while (performance.now() - openedAt < 5);

    const attempt = resultOf(reading(slow))
    const others = await Promise.all([resultOf(reading(succeed)), resultOf(reading(succeed))])
    release('back')

    expect(others).toEqual(['store-unavailable', 'store-unavailable'])
    expect(await attempt).toBe('back')
    expect(await resultOf(reading(succeed))).toBe('ok')
  })

  test('still gets statements when the requests fail and not the store', async () => {
    const { reserving } = createStoreBreaker({ failures: 1, openMs: 60_000 })
    const bad = () => Promise.reject(new ProblemError('invalid-state'))

    expect(await resultOf(reserving(bad))).toBe('invalid-state')
    expect(await resultOf(reserving(bad))).toBe('invalid-state')
    expect(await resultOf(reserving(succeed))).toBe('ok')
  })

  test('that accepts no writes is still read', async () => {
    const turns: [string, boolean][] = []
    const turned = (...turn: [string, boolean]) => void turns.push(turn)
    const breaker = createStoreBreaker({ failures: 1, openMs: 60_000 }, turned)
    await resultOf(breaker.reserving(timeOut))

    expect(await resultOf(breaker.reserving(succeed))).toBe('store-unavailable')
    expect(await resultOf(breaker.reading(succeed))).toBe('ok')
    expect(turns).toEqual([['store_reservations', true]])
  })

  test('always gets statements when the breaker is off', async () => {
    const { reading } = createStoreBreaker({ failures: 0, openMs: 60_000 })
    for (let tries = 0; tries < 20; tries += 1) await resultOf(reading(timeOut))

    expect(await resultOf(reading(succeed))).toBe('ok')
  })
})

test('over HTTP an open circuit returns 503 at once, and closes again by itself', async () => {
  const api = await startLimitedApi({
    STORE_BREAKER_FAILURES: '1',
    BREAKER_OPEN_MS: '3000',
    STORE_TIMEOUT_MS: '1500',
  })
  const tenant = await api.createTenant()
  let unlock = () => {}
  const unlocked = new Promise<void>((resolve) => (unlock = resolve))
  let lock = () => {}
  const locked = new Promise<void>((resolve) => (lock = resolve))
  const locking = api.store.sql.begin(async (tx) => {
    await tx`lock table api_keys in access exclusive mode`
    lock()
    await unlocked
  })
  await locked

  const slow = await postPayment(api.url, tenant)
  const startedAt = performance.now()
  const fast = await postPayment(api.url, tenant)
  const tookMs = performance.now() - startedAt
  unlock()
  await locking

  for (const answer of [slow, fast]) {
    expect(answer).toMatchObject({ status: 503, json: { type: '/problems/store-unavailable' } })
  }
  // A circuit is tried again after BREAKER_OPEN_MS.
  expect(slow.headers.get('retry-after')).toMatch(/^[12]$/)
  expect(fast.headers.get('retry-after')).toMatch(/^[34]$/)
  // It did not wait for the timeout of the store.
  expect(tookMs).toBeLessThan(1_400)
  let { status } = fast
  while (status === 503) ({ status } = await postPayment(api.url, tenant))
  expect(status).toBe(202)
  await api.stop()
})
