// The least length of a new idempotency key: of the service, and of a tenant that has its own.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { changeTenantLimits } from '../../../src/db/tenants/tenant-limits.ts'
import { post, postPayment } from '../../support/client.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import { expectProblem } from '../payments.ts'

let api: LimitedApi
beforeAll(async () => {
  api = await startLimitedApi({ API_KEY_CACHE_SECONDS: '0' })
})
afterAll(() => api.stop())

const ENDPOINT = { url: 'https://example.com/hook', event_types: ['*'] }
const SHORT = 'k'.repeat(35)

async function tenantWithMinimum() {
  const tenant = await api.createTenant()
  await changeTenantLimits(api.store.sql, tenant.id, { KEY_LENGTH_MIN: 36 })
  return tenant
}

test('a shorter key is refused for every kind of operation, and nothing is written', async () => {
  const tenant = await tenantWithMinimum()

  expectProblem(
    await postPayment(api.url, tenant, undefined, { key: SHORT }),
    'idempotency-key-too-short',
  )
  expectProblem(
    await post(api.url, tenant, '/v1/webhook-endpoints', ENDPOINT, { key: SHORT }),
    'idempotency-key-too-short',
  )

  expect(await api.store.sql`select from idempotency_keys where tenant_id = ${tenant.id}`).toEqual(
    [],
  )
})

test('a UUID is long enough, and another tenant has no minimum', async () => {
  const [tenant, other] = [await tenantWithMinimum(), await api.createTenant()]

  expect((await postPayment(api.url, tenant, undefined, { key: randomUUID() })).status).toBe(202)
  expect((await postPayment(api.url, other, undefined, { key: 'k' })).status).toBe(202)
})

test('a retry of a request that was accepted before gets its answer', async () => {
  const tenant = await api.createTenant()
  await postPayment(api.url, tenant, undefined, { key: SHORT })
  await post(api.url, tenant, '/v1/webhook-endpoints', ENDPOINT, { key: 'other' })
  await changeTenantLimits(api.store.sql, tenant.id, { KEY_LENGTH_MIN: 36 })
  // Another process does not know which keys are recent.
  const { url } = await api.serve({})

  expectProblem(await postPayment(url, tenant, undefined, { key: SHORT }), 'operation-in-progress')
  const retry = await post(url, tenant, '/v1/webhook-endpoints', ENDPOINT, { key: 'other' })
  expect(retry.headers.get('idempotent-replayed')).toBe('true')
})

test('the minimum of the service applies to a tenant without its own', async () => {
  const { url } = await api.serve({ KEY_LENGTH_MIN: '8' })
  const tenant = await api.createTenant()

  expectProblem(
    await postPayment(url, tenant, undefined, { key: '1234567' }),
    'idempotency-key-too-short',
  )
  expect((await postPayment(url, tenant, undefined, { key: '12345678' })).status).toBe(202)
})
