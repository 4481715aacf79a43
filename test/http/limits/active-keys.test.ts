// The limit on the uncompleted operations of a tenant.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { countActiveKeys } from '../../../src/db/idempotency/active-keys.ts'
import { createActiveKeysLimit } from '../../../src/http/limits/active-keys.ts'
import { post, postPayment, paymentBody } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'

const MOST = 3

let api: LimitedApi
beforeAll(async () => {
  api = await startLimitedApi({ MAX_ACTIVE_KEYS: String(MOST) })
})
afterAll(() => api.stop())

async function accept(tenant: Tenant, key: string) {
  return await postPayment(api.url, tenant, undefined, { key })
}

async function countRows(tenant: Tenant) {
  const [row] = await api.store.sql<{ keys: number; payments: number; jobs: number }[]>`
    select
      (select count(*)::int from idempotency_keys where tenant_id = ${tenant.id}) as keys,
      (select count(*)::int from payments where tenant_id = ${tenant.id}) as payments
  `
  return row
}

describe('a tenant at its limit of uncompleted operations', () => {
  test('gets 429 for a new operation, and nothing is written', async () => {
    const tenant = await api.createTenant()
    for (const key of ['1', '2', '3']) expect((await accept(tenant, key)).status).toBe(202)

    const refused = await accept(tenant, '4')

    expect(refused).toMatchObject({ status: 429, json: { type: '/problems/too-many-active-keys' } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await countRows(tenant)).toMatchObject({ keys: MOST, payments: MOST })
  })

  test('gets the usual answer to a retry', async () => {
    const tenant = await api.createTenant()
    for (const key of ['1', '2', '3']) await accept(tenant, key)

    const retry = await accept(tenant, '2')
    const misuse = await postPayment(api.url, tenant, paymentBody({ amount: 1 }), { key: '2' })

    expect(retry.json).toMatchObject({ type: '/problems/operation-in-progress' })
    expect(misuse.json).toMatchObject({ type: '/problems/idempotency-key-reused' })
  })

  test('can begin another as soon as one of them is idle', async () => {
    const tenant = await api.createTenant()
    for (const key of ['1', '2', '3']) await accept(tenant, key)
    await api.store.sql`
      update idempotency_keys set status = 'failed_retryable'
      where tenant_id = ${tenant.id} and key = '1'
    `

    expect((await accept(tenant, '4')).status).toBe(202)
    expect((await accept(tenant, '5')).status).toBe(429)
  })

  test('does not affect another tenant', async () => {
    const [full, other] = [await api.createTenant(), await api.createTenant()]
    for (const key of ['1', '2', '3']) await accept(full, key)

    expect((await accept(other, '4')).status).toBe(202)
  })

  test('can still run operations that are completed at once', async () => {
    const tenant = await api.createTenant()
    for (const key of ['1', '2', '3']) await accept(tenant, key)
    const body = { url: 'https://example.com/hook', event_types: ['*'] }

    expect((await post(api.url, tenant, '/v1/webhook-endpoints', body)).status).not.toBe(429)
  })
})

test('concurrent requests do not exceed the limit together', async () => {
  const tenant = await api.createTenant()

  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, index) => accept(tenant, `at-once-${index}`)),
  )

  expect(answers.filter(({ status }) => status === 202)).toHaveLength(MOST)
  expect(await countActiveKeys(api.store.sql, tenant.id, 100)).toBe(MOST)
})

test('below the limit, a tenant is counted at most once a second, and no request waits for the count', async () => {
  let counts = 0
  let nowMs = 0
  const limit = createActiveKeysLimit(
    1_000,
    () => {
      counts += 1
      return Promise.resolve(0)
    },
    pino({ level: 'silent' }),
    () => nowMs,
  )
  for (let request = 0; request < 900; request += 1) {
    nowMs += 10
    await limit.within('a', failIfCalled, () => Promise.resolve())
  }

  expect(counts).toBeLessThanOrEqual(9)
  expect(counts).toBeGreaterThan(0)
})

function failIfCalled(): Promise<boolean> {
  throw new Error('called although the limit is not reached')
}
