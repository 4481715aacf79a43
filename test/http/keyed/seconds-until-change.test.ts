// Retry-After of operations without a response: it says when that for which the operation waits is
// due. No worker runs: the tests claim and give back as a worker does, by its statements.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { claimOrThrow, giveBack, pending, unknown } from '../../db/reservations.ts'
import { paymentBody, postPayment, type ApiResponse } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi({ LEASE_MS: '60000', SWEEP_INTERVAL_MS: '8000' })
  tenant = await api.createTenant()
})
afterAll(() => api.stop())

interface Accepted extends OperationRef {
  /** Sends the request again. */
  readonly retry: () => Promise<ApiResponse>
}

async function accept(): Promise<Accepted> {
  const key = randomUUID()
  const retry = () => postPayment(api.url, tenant, paymentBody(), { key })
  expect((await retry()).status).toBe(202)
  const [row] = await api.store.sql<{ id: string }[]>`
    select id from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  return { tenantId: tenant.id, id: row?.id ?? '', retry }
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
