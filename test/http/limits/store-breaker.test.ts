// The circuit breaker around the store, and connections that are lost during a reservation.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { StoreTimeoutError } from '../../../src/db/connection/store-errors.ts'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { createStoreBreaker } from '../../../src/http/limits/store-breaker.ts'
import { paymentBody, postPayment } from '../../support/client.ts'
import { limitedApi, tenantOf } from '../../support/for-file.ts'
import { startLimitedApi } from '../../support/limited-api.ts'
import { until } from '../../support/until.ts'
import { lockTable } from '../rude-clients/locked-keys.ts'

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
  const { locked, release } = await lockTable(api, 'api_keys')

  const slow = await postPayment(api.url, tenant)
  const startedAt = performance.now()
  const fast = await postPayment(api.url, tenant)
  const tookMs = performance.now() - startedAt
  release()
  await locked

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

describe('a lost connection during the reservation', () => {
  /** Beyond these no more statements are sent for one request. */
  const TRIES = 3

  const api = limitedApi({ STORE_TIMEOUT_MS: '20000' })
  const tenant = tenantOf(api)

  /** Ends each session that waits to write a key, as often as given, and returns how often it did. */
  async function endReservations(most: number, isAnswered: () => boolean): Promise<number> {
    const { sql } = api.store
    const ended = new Set<unknown>()
    await until(async () => {
      const rows = await sql`
      select pid, pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
        and query like '%insert into idempotency_keys%'
    `
      for (const { pid } of rows) ended.add(pid)
      return ended.size >= most || isAnswered()
    })
    return ended.size
  }

  /** Sends a payment, and ends its first reservations while others hold a lock on the keys. */
  async function payWithEnded(most: number) {
    const key = randomUUID()
    let isAnswered = false
    const blocked = await api.store.sql.begin(async (tx) => {
      await tx`lock table idempotency_keys in share mode`
      const answer = postPayment(api.url, tenant, paymentBody(), { key }).finally(() => {
        isAnswered = true
      })
      return { answer, ended: await endReservations(most, () => isAnswered) }
    })

    const answer = await blocked.answer
    const [{ count } = {}] = await api.store.sql`
    select count(*)::int from idempotency_keys where key = ${key}
  `
    return { status: answer.status, type: answer.json['type'], ended: blocked.ended, keys: count }
  }

  test('sends the reservation again, and reserves the key once', async () => {
    const paid = await payWithEnded(TRIES - 1)

    expect(paid).toMatchObject({ status: 202, ended: TRIES - 1, keys: 1 })
  })

  test('gives up after three tries with 503, and reserves nothing', async () => {
    const paid = await payWithEnded(TRIES + 1)

    expect(paid).toMatchObject({
      status: 503,
      type: '/problems/store-unavailable',
      ended: TRIES,
      keys: 0,
    })
  })
})
