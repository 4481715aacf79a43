import { describe, expect, test } from '@jest/globals'
import { createStoreBreaker } from '../../../src/http/limits/store-breaker.ts'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { StoreTimeoutError } from '../../../src/db/connection/deadline.ts'
import { postPayment } from '../../support/client.ts'
import { startLimitedApi } from '../../support/limited-api.ts'

const lost = () => Promise.reject(new StoreTimeoutError('the store did not answer'))
const well = () => Promise.resolve('well')

/** What asking comes to: the value, or the kind of the failure. */
async function resultOf(asking: Promise<unknown>): Promise<unknown> {
  return await asking.catch((error: unknown) =>
    error instanceof ProblemError ? error.type : (error as Error).name,
  )
}

describe('a store that fails again and again', () => {
  test('is not asked any more, until one request has tried', async () => {
    const { reading } = createStoreBreaker({ failures: 3, openMs: 50 })
    let asked = 0
    const ask = (answer: () => Promise<unknown>) =>
      resultOf(
        reading(() => {
          asked += 1
          return answer()
        }),
      )

    const failed = [await ask(lost), await ask(lost), await ask(lost)]
    const refused = await ask(well)

    expect(failed).toEqual(Array.from({ length: 3 }, () => 'StoreTimeoutError'))
    expect(refused).toBe('store-unavailable')
    expect(asked).toBe(3)

    let result = refused
    while (result === 'store-unavailable') result = await ask(well)
    expect(result).toBe('well')
    expect(asked).toBe(4)
  })

  test('is tried by one request at a time, for which no other waits', async () => {
    const { reading } = createStoreBreaker({ failures: 1, openMs: 1 })
    await resultOf(reading(lost))
    let release = (_value: string) => {}
    const slow = () => new Promise<string>((resolve) => (release = resolve))
    // The circuit is open for a millisecond.
    const openedAt = performance.now()
    while (performance.now() - openedAt < 5);

    const trying = resultOf(reading(slow))
    const others = await Promise.all([resultOf(reading(well)), resultOf(reading(well))])
    release('back')

    expect(others).toEqual(['store-unavailable', 'store-unavailable'])
    expect(await trying).toBe('back')
    expect(await resultOf(reading(well))).toBe('well')
  })

  test('is asked on when what fails is the request and not the store', async () => {
    const { reserving } = createStoreBreaker({ failures: 1, openMs: 60_000 })
    const bad = () => Promise.reject(new ProblemError('invalid-state'))

    expect(await resultOf(reserving(bad))).toBe('invalid-state')
    expect(await resultOf(reserving(bad))).toBe('invalid-state')
    expect(await resultOf(reserving(well))).toBe('well')
  })

  test('that takes nothing may still be read', async () => {
    const turns: [string, boolean][] = []
    const turned = (...turn: [string, boolean]) => void turns.push(turn)
    const breaker = createStoreBreaker({ failures: 1, openMs: 60_000 }, turned)
    await resultOf(breaker.reserving(lost))

    expect(await resultOf(breaker.reserving(well))).toBe('store-unavailable')
    expect(await resultOf(breaker.reading(well))).toBe('well')
    expect(turns).toEqual([['store_reservations', true]])
  })

  test('is always asked without a limit', async () => {
    const { reading } = createStoreBreaker({ failures: 0, openMs: 60_000 })
    for (let tries = 0; tries < 20; tries += 1) await resultOf(reading(lost))

    expect(await resultOf(reading(well))).toBe('well')
  })
})

test('over HTTP an open circuit is a 503 at once, and then works again by itself', async () => {
  const api = await startLimitedApi({
    STORE_BREAKER_FAILURES: '1',
    BREAKER_OPEN_MS: '1000',
    STORE_TIMEOUT_MS: '500',
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
    expect(answer.headers.get('retry-after')).toBe('1')
  }
  // It has not waited for the store's time-out.
  expect(tookMs).toBeLessThan(500)
  let { status } = fast
  while (status === 503) ({ status } = await postPayment(api.url, tenant))
  expect(status).toBe(202)
  await api.stop()
})
