// A retry with `Prefer: respond-async` gets what the first request got: the 202, as long as the
// operation goes on by itself. No worker runs, so that the operations stay unfinished.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { showId } from '../../../src/domain/resource-id.ts'
import { claimOrThrow, failed, giveBack, unknown } from '../../db/reservations.ts'
import { paymentBody, postPayment, type ApiResponse } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

let api: LimitedApi
let tenant: Tenant
/** Another API process, which has not served the keys before. */
let otherUrl: string

beforeAll(async () => {
  api = await startLimitedApi()
  tenant = await api.createTenant()
  otherUrl = (await api.serve({})).url
})
afterAll(() => api.stop())

const send = (key: string, prefer?: string, url = api.url) =>
  postPayment(url, tenant, paymentBody(), {
    key,
    headers: prefer === undefined ? {} : { prefer },
  })

async function operationOf(key: string) {
  const rows = await api.store.sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  expect(rows).toHaveLength(1)
  return { tenantId: tenant.id, id: rows[0]?.id ?? '' }
}

function expectSame202(retry: ApiResponse, first: ApiResponse): void {
  expect(first.status).toBe(202)
  expect(retry.status).toBe(202)
  expect(retry.text).toBe(first.text)
  for (const name of ['location', 'content-type', 'idempotency-key-expires']) {
    expect(retry.headers.get(name)).toBe(first.headers.get(name))
  }
  expect(retry.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(retry.headers.has('idempotent-replayed')).toBe(false)
}

test.each(['respond-async', undefined])(
  'a retry that prefers respond-async gets the 202 of a first request with Prefer: %s',
  async (prefer) => {
    const key = randomUUID()
    const first = await send(key, prefer)
    const reserved = jest.spyOn(api.parts.observe, 'reserved')

    const retry = await send(key, 'respond-async')
    expectSame202(retry, first)
    expect(retry.headers.get('preference-applied')).toBe('respond-async')
    expect(reserved.mock.calls).toEqual([[showId('tnt', tenant.id), 'in_progress']])
    expectSame202(await send(key, 'respond-async', otherUrl), first)
    const jobs = await api.store.sql`
      select from atomic_jobs.job where data ->> 'operationId' = ${(await operationOf(key)).id}
    `
    expect(jobs).toHaveLength(1)
    reserved.mockRestore()
  },
)

test('it gets the same while a worker runs the operation, and 409 without the preference', async () => {
  const key = randomUUID()
  const first = await send(key)
  await claimOrThrow(api.store.sql, await operationOf(key))

  expectSame202(await send(key, 'respond-async'), first)
  const refused = await send(key)
  expectProblem(refused, 'operation-in-progress')
  expect(refused.headers.has('preference-applied')).toBe(false)
})

test('with a wait as well, it waits first', async () => {
  const key = randomUUID()
  const first = await send(key)
  const startedAt = performance.now()

  const retry = await send(key, 'respond-async, wait=1')

  expect(performance.now() - startedAt).toBeGreaterThan(900)
  expectSame202(retry, first)
  expect(retry.headers.get('preference-applied')).toBe('respond-async, wait=1')
})

test('an unknown outcome is a 202 as well, with the time of the next check', async () => {
  const key = randomUUID()
  await send(key)
  const claim = await claimOrThrow(api.store.sql, await operationOf(key))
  await giveBack(api.store, claim, { ...unknown, checkDelaysSeconds: [1_000] })
  const reserved = jest.spyOn(api.parts.observe, 'reserved')

  const retry = await send(key, 'respond-async')

  expect(retry.status).toBe(202)
  expect(Number(retry.headers.get('retry-after'))).toBeGreaterThan(900)
  expect(reserved.mock.calls).toEqual([[showId('tnt', tenant.id), 'unknown']])
  expectProblem(await send(key), 'outcome-unknown')
  reserved.mockRestore()
})

test('an operation that waits for a retry is no promise: the retry has to continue it', async () => {
  const key = randomUUID()
  await send(key)
  const operation = await operationOf(key)
  await giveBack(api.store, await claimOrThrow(api.store.sql, operation), failed)

  // The payment is not marked as failed, so that this retry cannot continue the operation.
  expectProblem(await send(key, 'respond-async'), 'invalid-state')
})
