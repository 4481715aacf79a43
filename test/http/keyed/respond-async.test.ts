// What a retry gets while its operation has no response. No worker runs.
import { randomUUID } from 'node:crypto'
import { expect, jest, test } from '@jest/globals'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { claimOrThrow, failed, giveBack, pending, unknown } from '../../db/reservations.ts'
import { type ApiResponse, paymentBody, postPayment } from '../../support/client.ts'
import { anotherApi, limitedApi, tenantOf } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = limitedApi({ LEASE_MS: '60000', SWEEP_INTERVAL_MS: '8000' })
const tenant = tenantOf(api)
/** It has not served the keys before. */
const other = anotherApi(api, {})

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
    expectSame202(await send(key, 'respond-async', other.url), first)
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

interface Accepted extends OperationRef {
  /** Sends the request again. */
  readonly retry: () => Promise<ApiResponse>
}

async function accept(): Promise<Accepted> {
  const key = randomUUID()
  const retry = () => send(key)
  expect((await retry()).status).toBe(202)
  return { ...(await operationOf(key)), retry }
}

async function setLease({ tenantId, id }: OperationRef, seconds: number): Promise<void> {
  await api.store.sql`
    update idempotency_keys set lease_expires_at = now() + ${seconds} * interval '1 second'
    where tenant_id = ${tenantId} and id = ${id}
  `
}

/** The test itself takes up to three seconds, by which an answer may be early. */
function expectWait(answer: ApiResponse, seconds: number): void {
  const least = Math.max(1, seconds - 3)
  const most = seconds + Math.min(60, Math.max(1, seconds / 10))
  const header = answer.headers.get('retry-after') ?? ''
  expect(header).toMatch(/^[1-9]\d*$/)
  expect(Number(header)).toBeGreaterThanOrEqual(least)
  expect(Number(header)).toBeLessThanOrEqual(most)
}

const claim = (operation: OperationRef) => claimOrThrow(api.store.sql, operation)
const leasedFor = (seconds: number) => async (operation: OperationRef) => {
  await claim(operation)
  await setLease(operation, seconds)
}
const givenBack = (result: typeof pending) => async (operation: OperationRef) =>
  giveBack(api.store, await claim(operation), result)

test.each<[string, number, (operation: OperationRef) => Promise<unknown>]>([
  ['a running operation that its worker took just now', 1, claim],
  ['a running operation, as long as its worker has had it', 23, leasedFor(40)],
  ['a running operation, to the end of its lease at the latest', 12, leasedFor(12)],
  ['an operation whose worker is gone, until the sweeper takes over', 8, leasedFor(-1)],
  ['a pending operation whose job waits for a worker', 1, () => Promise.resolve()],
  [
    'a pending operation, until its job is tried again',
    45,
    async (operation) => {
      await givenBack(pending)(operation)
      await api.store.sql`
        update atomic_jobs.job set state = 'retry', start_after = now() + interval '45 seconds'
        where data ->> 'operationId' = ${operation.id}
      `
    },
  ],
  [
    'a pending operation without a job, until the sweeper gives it one',
    8,
    async (operation) => {
      await givenBack(pending)(operation)
      await api.store
        .sql`delete from atomic_jobs.job where data ->> 'operationId' = ${operation.id}`
    },
  ],
  ['an unknown outcome', 5, givenBack({ ...unknown, checkDelaysSeconds: [5] })],
  [
    'an unknown outcome that is looked up late',
    3_600,
    givenBack({ ...unknown, checkDelaysSeconds: [3_600] }),
  ],
  [
    'an unknown outcome that waits for a person',
    3_600,
    givenBack({ ...unknown, checkDelaysSeconds: [] }),
  ],
])('Retry-After of %s is about %d s', async (_, seconds, arrange) => {
  const operation = await accept()
  await arrange(operation)

  expectWait(await operation.retry(), seconds)
})
