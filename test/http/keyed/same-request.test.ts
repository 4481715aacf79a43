// Which retries get the answer of a key, also in the middle of a deployment.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { fingerprintRequest } from '../../../src/domain/idempotency/idempotency-key.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import {
  executedKinds,
  expectProblem,
  expectReplay,
  keyedRequests,
  makePayment,
} from '../payments.ts'
import { forFile } from '../../support/for-file.ts'
import { startLimitedApiOn } from '../../support/limited-api.ts'
import { service, tenant } from '../../support/shared-service.ts'

/** Another API, which has not served the keys before. */
const otherApi = forFile(() =>
  startLimitedApiOn(service.databaseUrl, { WEBHOOK_ALLOW_INSECURE: 'true', WAIT_SECONDS: '20' }),
)

const CHARGED = ['payment_intent.create', 'payment_intent.capture']

describe('a retry that spells out a default', () => {
  const kinds: [string, () => Promise<string> | string, unknown, unknown][] = [
    [
      'of a payment',
      () => '/v1/payments',
      paymentBody({ capture_method: 'automatic', customer: null, metadata: {} }),
      paymentBody({ description: null }),
    ],
    [
      'of a refund',
      async () => `/v1/payments/${(await makePayment(service, tenant, 'succeeded')).id}/refunds`,
      { reason: null },
      {},
    ],
    [
      'of a cancellation',
      async () =>
        `/v1/payments/${(await makePayment(service, tenant, 'requires_capture')).id}/cancel`,
      undefined,
      { reason: null },
    ],
    [
      'of a webhook endpoint',
      () => '/v1/webhook-endpoints',
      { url: 'http://127.0.0.1:9/hooks', description: null },
      { url: 'http://127.0.0.1:9/hooks', event_types: ['*'] },
    ],
  ]

  test.each(kinds)('%s gets the stored response', async (_, makePath, body, retried) => {
    const path = await makePath()
    const key = randomUUID()

    const first = await post(service.apiUrl, tenant, path, body, { key })

    expect([200, 201]).toContain(first.status)
    for (const url of [service.apiUrl, otherApi.url]) {
      expectReplay(await post(url, tenant, path, retried, { key }), first)
    }
  })
})

/** Leaves of the row what a process of the version without the second fingerprint writes. */
async function makeOlder(key: string): Promise<void> {
  const { count } = await service.store.sql`
    update idempotency_keys set fingerprint_version = default, validated_fingerprint = default
    where tenant_id = ${tenant.id} and key = ${key}
  `
  expect(count).toBe(1)
}

describe('in the middle of a deployment', () => {
  test('a retry of what an old process reserved gets its response, and is charged once', async () => {
    const key = randomUUID()
    const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    await makeOlder(key)

    for (const url of [service.apiUrl, otherApi.url]) {
      expectReplay(await postPayment(url, tenant, paymentBody(), { key }), first)
      const other = paymentBody({ amount: 2000 })
      expectProblem(await postPayment(url, tenant, other, { key }), 'idempotency-key-reused')
    }
    expect(await executedKinds(service, first.json as { id: string })).toEqual(CHARGED)
  })

  test('an old process recognizes what a new one reserved: it compares only what was sent', async () => {
    const key = randomUUID()
    const body = paymentBody({ capture_method: 'automatic' })
    await postPayment(service.apiUrl, tenant, body, { key })

    const rows = await service.store.sql`
      select fingerprint, fingerprint_version from idempotency_keys
      where tenant_id = ${tenant.id} and key = ${key}
    `
    const fingerprint = fingerprintRequest({ method: 'POST', path: '/v1/payments', body })
    expect(rows).toEqual([{ fingerprint, fingerprint_version: 2 }])
  })

  test('an old process still reserves keys: its statement names neither new column', async () => {
    const key = randomUUID()
    const fingerprint = fingerprintRequest({
      method: 'POST',
      path: '/v1/webhook-endpoints/test',
      body: {},
    })
    await service.store.sql`
      insert into idempotency_keys (tenant_id, id, key, fingerprint, operation, expires_at)
      values (
        ${tenant.id}, ${randomUUID()}, ${key}, ${fingerprint}, 'webhook_endpoint.test',
        now() + interval '1 day'
      )
    `
    const rows = await service.store.sql`
      select fingerprint_version, validated_fingerprint from idempotency_keys
      where tenant_id = ${tenant.id} and key = ${key}
    `
    expect(rows).toEqual([{ fingerprint_version: 1, validated_fingerprint: null }])
  })

  test('a request that this version refuses, and an earlier one accepted, gets its response', async () => {
    const key = randomUUID()
    const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    const earlier = paymentBody({ a_field_that_is_gone: true })
    await service.store.sql`
      update idempotency_keys
      set fingerprint = ${fingerprintRequest({ method: 'POST', path: '/v1/payments', body: earlier })}
      where tenant_id = ${tenant.id} and key = ${key}
    `

    for (const url of [service.apiUrl, otherApi.url]) {
      expectReplay(await postPayment(url, tenant, earlier, { key }), first)
    }
    // Under an unused key, or a key of another request, it is refused like any other.
    const others = { ...earlier, amount: 2000 }
    expectProblem(await postPayment(otherApi.url, tenant, others, { key }), 'unknown-field')
    expectProblem(await postPayment(otherApi.url, tenant, earlier), 'unknown-field')
  })
})

describe('the version of a stored response', () => {
  async function readVersion(key: string): Promise<unknown> {
    const [row] = await service.store.sql`
      select response_version from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
    `
    return row?.['response_version']
  }

  async function setVersion(key: string, version: number): Promise<void> {
    await service.store.sql`
      update idempotency_keys set response_version = ${version}
      where tenant_id = ${tenant.id} and key = ${key}
    `
  }

  test('is the current one, also of a key that is canceled before its request', async () => {
    const key = randomUUID()
    await post(service.apiUrl, tenant, `/v1/idempotency-keys/${key}/cancel`)

    expect(await readVersion(key)).toBe(2)
  })

  test.each(keyedRequests)(
    'is the current one of %s; an older one is replayed, and a newer one is not guessed',
    async (_, makePath, body) => {
      const path = await makePath(service, tenant)
      const key = randomUUID()
      const send = () => post(service.apiUrl, tenant, path, body, { key })
      const first = await send()
      expect(await readVersion(key)).toBe(2)

      await setVersion(key, 1)
      expectReplay(await send(), first)
      expect(await readVersion(key)).toBe(1)

      await setVersion(key, 3)
      const refused = await send()
      await setVersion(key, 2)
      expectProblem(refused, 'store-unavailable')
      expect(refused.headers.has('idempotency-key-expires')).toBe(true)
      expect(refused.headers.get('retry-after')).toMatch(/^[12]$/)
      expect(refused.headers.has('idempotent-replayed')).toBe(false)
      expectReplay(await send(), first)
      if (path !== '/v1/payments') return
      expect(await executedKinds(service, first.json as { id: string })).toEqual(CHARGED)
    },
  )
})
