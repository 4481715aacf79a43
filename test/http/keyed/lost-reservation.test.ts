// Tests what a request does when it loses its connection to the database during the reservation.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { paymentBody, postPayment } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** Beyond these no more statements are sent for one request. */
const TRIES = 3

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi({ STORE_TIMEOUT_MS: '20000' })
  tenant = await api.createTenant()
})
afterAll(() => api.stop())

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
