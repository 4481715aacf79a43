// What a retry gets while its operation has no response. No worker runs: the tests claim and give back as a
// worker does, by its statements. With `Prefer: respond-async` it is what the first request got: the 202, as
// long as the operation goes on by itself. Retry-After says when that for which the operation waits is due.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, jest, test } from '@jest/globals'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { claimOrThrow, failed, giveBack, pending, unknown } from '../../db/reservations.ts'
import { type ApiResponse, paymentBody, postPayment } from '../../support/client.ts'
import { limitedApi, tenantOf } from '../../support/for-file.ts'
import { expectProblem } from '../payments.ts'

const api = limitedApi({ LEASE_MS: '60000', SWEEP_INTERVAL_MS: '8000' })
const tenant = tenantOf(api)
/** Another API process, which has not served the keys before. */
let otherUrl: string

beforeAll(async () => {
  otherUrl = (await api.serve({})).url
})

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

describe('a running operation', () => {
  test('is asked for soon after its worker took it', async () => {
    const operation = await accept()
    await claimOrThrow(api.store.sql, operation)

    expectWait(await operation.retry(), 1)
  })

  test('is asked for again after as long as its worker has had it', async () => {
    const operation = await accept()
    await claimOrThrow(api.store.sql, operation)
    await setLease(operation, 40)

    expectWait(await operation.retry(), 23)
  })

  test('is asked for at the end of its lease at the latest, when the sweeper takes over', async () => {
    const operation = await accept()
    await claimOrThrow(api.store.sql, operation)
    await setLease(operation, 12)
    expectWait(await operation.retry(), 12)

    await setLease(operation, -1)
    expectWait(await operation.retry(), 8)
  })
})

describe('a pending operation', () => {
  test('is asked for soon while its job waits for a worker', async () => {
    const operation = await accept()

    expectWait(await operation.retry(), 1)
  })

  test('is asked for when its job is tried again', async () => {
    const operation = await accept()
    await giveBack(api.store, await claimOrThrow(api.store.sql, operation), pending)
    await api.store.sql`
      update atomic_jobs.job set state = 'retry', start_after = now() + interval '45 seconds'
      where data ->> 'operationId' = ${operation.id}
    `
    expectWait(await operation.retry(), 45)
  })

  test('is asked for when the sweeper gives it a job, if it has none', async () => {
    const operation = await accept()
    await giveBack(api.store, await claimOrThrow(api.store.sql, operation), pending)
    await api.store.sql`delete from atomic_jobs.job where data ->> 'operationId' = ${operation.id}`

    expectWait(await operation.retry(), 8)
  })
})

describe('an unknown outcome', () => {
  test('that is looked up in an hour is asked for in about an hour', async () => {
    const operation = await accept()
    const claim = await claimOrThrow(api.store.sql, operation)
    await giveBack(api.store, claim, { ...unknown, checkDelaysSeconds: [5, 3_600] })
    const soon = await operation.retry()
    await api.store.sql`
      update idempotency_keys set next_check_at = now() + interval '1 hour'
      where tenant_id = ${tenant.id} and id = ${operation.id}
    `
    const later = await operation.retry()

    expectProblem(soon, 'outcome-unknown')
    expectWait(soon, 5)
    expectWait(later, 3_600)
  })

  test('that no one looks up any more waits for a person, in steps of an hour', async () => {
    const operation = await accept()
    const claim = await claimOrThrow(api.store.sql, operation)
    await giveBack(api.store, claim, { ...unknown, checkDelaysSeconds: [] })

    expectWait(await operation.retry(), 3_600)
  })
})
