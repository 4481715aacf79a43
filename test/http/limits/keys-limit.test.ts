// The limits on the idempotency keys of a tenant: how many, and how long at least.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { countActiveKeys } from '../../../src/db/idempotency/idempotency-keys.ts'
import { changeTenantLimits } from '../../../src/db/tenants/tenants.ts'
import {
  activeKeys,
  createKeysLimit,
  type KeyKind,
  storedKeys,
} from '../../../src/http/limits/keys-limit.ts'
import { get, paymentBody, post, postPayment } from '../../support/client.ts'
import { anotherApi, limitedApi } from '../../support/for-file.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

const MOST = 3
const ENDPOINT = { url: 'https://example.com/hook', event_types: ['*'] }

const api = limitedApi({ MAX_ACTIVE_KEYS: String(MOST) })

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
    expect(refused.headers.get('retry-after')).toMatch(/^[12]$/)
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

  test('can still run operations that are completed at once', async () => {
    const tenant = await api.createTenant()
    for (const key of ['1', '2', '3']) await accept(tenant, key)

    expect((await post(api.url, tenant, '/v1/webhook-endpoints', ENDPOINT)).status).not.toBe(429)
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

describe('a tenant at its limit of stored keys', () => {
  const tooMany = { status: 429, json: { type: '/problems/too-many-stored-keys' } }

  async function fillUp(): Promise<Tenant> {
    const tenant = await api.createTenant()
    await changeTenantLimits(api.store.sql, tenant.id, { MAX_STORED_KEYS: 2 })
    await accept(tenant, '1')
    const { status, json } = await accept(tenant, '2')
    expect(status).toBe(202)
    await completeAll(tenant, { ...json, status: 'succeeded' })
    return tenant
  }

  test('gets 429 for a new key, although all of its operations are completed', async () => {
    const tenant = await fillUp()

    const refused = await accept(tenant, '3')

    expect(refused).toMatchObject(tooMany)
    expect(refused.headers.get('retry-after')).toMatch(/^6[0-6]$/)
    expect(await countRows(tenant)).toMatchObject({ keys: 2, payments: 2 })
  })

  test('gets 429 for an operation without a provider call, too', async () => {
    const tenant = await fillUp()

    expect(await post(api.url, tenant, '/v1/webhook-endpoints', ENDPOINT)).toMatchObject(tooMany)
    expect(await countRows(tenant)).toMatchObject({ keys: 2 })
  })

  test('gets its stored responses, and may read', async () => {
    const tenant = await fillUp()

    expect(await accept(tenant, '2')).toMatchObject({ status: 201, json: { status: 'succeeded' } })
    expect((await get(api.url, tenant, '/v1/payments')).status).toBe(200)
  })
})

/** As workers would complete them. */
async function completeAll(tenant: Tenant, payment: object = {}): Promise<void> {
  await api.store.sql`
    update idempotency_keys set status = 'completed', recovery_point = 'finished',
      response_status = 201, response_headers = '{"content-type": "application/json"}',
      response_body = ${JSON.stringify(payment)}, finished_at = now()
    where tenant_id = ${tenant.id}
  `
}

test('a limit of its own replaces the setting, and 0 means no limit', async () => {
  const [small, large] = [await api.createTenant(), await api.createTenant()]
  await changeTenantLimits(api.store.sql, small.id, { MAX_ACTIVE_KEYS: 1, RATE_LIMIT_WRITES: 7 })
  await changeTenantLimits(api.store.sql, large.id, { MAX_ACTIVE_KEYS: 0, RATE_LIMIT_WRITES: 0 })

  const first = await accept(small, '1')
  const second = await accept(small, '2')
  const many = []
  for (let key = 0; key <= MOST; key += 1) many.push(await accept(large, String(key)))

  expect([first.status, second.status]).toEqual([202, 429])
  expect(first.headers.get('ratelimit-policy')).toBe('"writes";q=7;w=60')
  expect(many.map(({ status }) => status)).toEqual(many.map(() => 202))
  expect(many[0]?.headers.get('ratelimit-policy')).toBeNull()
})

describe('below the limit, no request waits for a count, and a tenant is counted', () => {
  async function countWhile(kind: KeyKind, most: number, requests: number): Promise<number> {
    let counts = 0
    let nowMs = 0
    const limit = createKeysLimit(
      kind,
      () => {
        counts += 1
        return Promise.resolve(0)
      },
      pino({ level: 'silent' }),
      () => nowMs,
    )
    for (let request = 0; request < requests; request += 1) {
      nowMs += 10
      await limit.within({ tenantId: 'a', most }, failIfCalled, () => Promise.resolve())
    }
    return counts
  }

  test('at most once a second for uncompleted operations', async () => {
    const counts = await countWhile(activeKeys, 1_000, 900)

    expect(counts).toBeLessThanOrEqual(9)
    expect(counts).toBeGreaterThan(0)
  })

  test('for stored keys, at once, and when a sixteenth of the room is used', async () => {
    expect(await countWhile(storedKeys, 160_000, 9_999)).toBe(1)
    expect(await countWhile(storedKeys, 160_000, 10_010)).toBe(2)
    // Ten seconds apart: requests are 10 ms apart.
    expect(await countWhile(storedKeys, 1_600, 999)).toBe(1)
    expect(await countWhile(storedKeys, 1_600, 1_010)).toBe(2)
  })
})

test('at the limit, stored keys are counted again after ten seconds', async () => {
  let [counts, nowMs] = [0, 0]
  const count = () => Promise.resolve((counts += 1) === 2 ? 2 : 1)
  const limit = createKeysLimit(storedKeys, count, pino({ level: 'silent' }), () => nowMs)
  const tenant = { tenantId: 'a', most: 2 }
  const ask = () =>
    limit.within(
      tenant,
      () => Promise.resolve(false),
      () => Promise.resolve('reserved'),
    )
  const refused = { type: 'too-many-stored-keys' }

  await ask()
  for (nowMs = 1; nowMs < 10_000; nowMs += 1_000) await expect(ask()).rejects.toMatchObject(refused)
  expect(counts).toBe(1)
  nowMs = 10_000
  await expect(ask()).rejects.toMatchObject(refused)
  nowMs = 20_000

  expect(await ask()).toBe('reserved')
  expect(counts).toBe(3)
})

function failIfCalled(): Promise<boolean> {
  throw new Error('called although the limit is not reached')
}

/** Limits of a tenant count at once. */
const fresh = anotherApi(api, { API_KEY_CACHE_SECONDS: '0' })

const SHORT = 'k'.repeat(35)

async function tenantWithMinimum() {
  const tenant = await api.createTenant()
  await changeTenantLimits(api.store.sql, tenant.id, { KEY_LENGTH_MIN: 36 })
  return tenant
}

test('a shorter key is refused for every kind of operation, and nothing is written', async () => {
  const tenant = await tenantWithMinimum()

  expectProblem(
    await postPayment(fresh.url, tenant, undefined, { key: SHORT }),
    'idempotency-key-too-short',
  )
  expectProblem(
    await post(fresh.url, tenant, '/v1/webhook-endpoints', ENDPOINT, { key: SHORT }),
    'idempotency-key-too-short',
  )

  expect(await api.store.sql`select from idempotency_keys where tenant_id = ${tenant.id}`).toEqual(
    [],
  )
})

test('a UUID is long enough, and another tenant has no minimum', async () => {
  const [tenant, other] = [await tenantWithMinimum(), await api.createTenant()]

  expect((await postPayment(fresh.url, tenant, undefined, { key: randomUUID() })).status).toBe(202)
  expect((await postPayment(fresh.url, other, undefined, { key: 'k' })).status).toBe(202)
})

test('a retry of a request that was accepted before gets its answer', async () => {
  const tenant = await api.createTenant()
  await postPayment(fresh.url, tenant, undefined, { key: SHORT })
  await post(fresh.url, tenant, '/v1/webhook-endpoints', ENDPOINT, { key: 'other' })
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
