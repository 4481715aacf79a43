// What clients get for an expired key: the stored response, a new operation, or 410.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  get,
  paymentBody,
  post,
  postPayment,
  remove,
  type ApiResponse,
} from '../../support/client.ts'
import { expireKey, reapKeys } from '../../support/expired-keys.ts'
import { outliveDetails } from '../../support/old-payments.ts'
import { until } from '../../support/until.ts'
import { expectProblem, expectReplay, keyedRequests, makePayment } from '../payments.ts'
import { forFile, ownService, tenantOf } from '../../support/for-file.ts'
import { startLimitedApiOn } from '../../support/limited-api.ts'

const EARLIER = 'idempotency-earlier-resource'
const EXPIRED = 'idempotency-key-expired'
const HOOK = 'http://127.0.0.1:9/hooks'

// The tests run the reaper themselves.
const SETTINGS = { WEBHOOK_ALLOW_INSECURE: 'true', REAP_INTERVAL_MS: '3600000' }
const service = ownService(SETTINGS)
const tenant = tenantOf(service)
/** Another API of the service. */
const gone = forFile(() =>
  startLimitedApiOn(service.databaseUrl, { ...SETTINGS, EXPIRED_KEYS: 'gone', WAIT_SECONDS: '20' }),
)

const expire = (key: string, options = {}) => expireKey(service.store, tenant.id, key, options)

/** The path of the resource of an answer. */
const locationOf = ({ headers }: ApiResponse) => headers.get('location')

test('a late retry names a payment whose details were deleted, and makes another', async () => {
  const key = randomUUID()
  const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  await expire(key)
  expect(await outliveDetails(service.store.sql, tenant.id)).toBe(1)

  const second = await postPayment(service.apiUrl, tenant, paymentBody(), { key })

  expect(second.status).toBe(201)
  expect(second.headers.get(EARLIER)).toBe(locationOf(first))
  expect(await get(service.apiUrl, tenant, locationOf(first) ?? '')).toMatchObject({
    status: 200,
    json: { id: first.json['id'], status: 'succeeded', payment_method: 'erased' },
  })
})

describe.each(keyedRequests)('a late retry of %s', (_, makePath, body) => {
  const makeRequest = async () => {
    const path = await makePath(service, tenant)
    return (url: string, key: string) => post(url, tenant, path, body, { key })
  }

  test('is replayed as long as the key is not deleted', async () => {
    const request = await makeRequest()
    const key = randomUUID()
    const first = await request(service.apiUrl, key)
    await expire(key, { deleted: false })

    for (const url of [service.apiUrl, gone.url]) {
      const late = await request(url, key)
      expect(late).toMatchObject({ status: first.status, text: first.text })
      expect(late.headers.get('idempotent-replayed')).toBe('true')
      expect(late.headers.get(EARLIER)).toBeNull()
    }
  })

  test('is a new operation, and every answer names the earlier resource', async () => {
    const request = await makeRequest()
    const key = randomUUID()
    const first = await request(service.apiUrl, key)
    await expire(key)

    const second = await request(service.apiUrl, key)
    const replayed = await request(service.apiUrl, key)
    const read = await get(service.apiUrl, tenant, `/v1/idempotency-keys/${key}`)

    expect(first.status).toBe(201)
    expect(first.headers.get(EARLIER)).toBeNull()
    expect(second.status).toBe(201)
    expect(locationOf(second)).not.toBe(locationOf(first))
    expectReplay(replayed, second)
    for (const answer of [second, replayed, read]) {
      expect(answer.headers.get(EARLIER)).toBe(locationOf(first))
      const expired = Date.parse(answer.headers.get(EXPIRED) ?? '')
      expect(Math.abs(expired - Date.now() + 48 * 3_600_000)).toBeLessThan(60_000)
    }
    expect((await get(service.apiUrl, tenant, locationOf(first) ?? '')).status).toBe(200)
  })

  test('returns 410 with EXPIRED_KEYS=gone, executes nothing, and names the resource', async () => {
    const request = await makeRequest()
    const key = randomUUID()
    const first = await request(gone.url, key)
    await expire(key)
    const count = async () => (await service.store.sql`select from idempotency_keys`).length
    const before = await count()

    const late = await request(gone.url, key)
    const read = await get(gone.url, tenant, `/v1/idempotency-keys/${key}`)

    expect(first.status).toBe(201)
    for (const answer of [late, read]) {
      expectProblem(answer, 'idempotency-key-expired')
      expect(answer.headers.get(EARLIER)).toBe(locationOf(first))
      expect(answer.headers.get(EXPIRED)).not.toBeNull()
      expect(answer.json['detail']).toContain(locationOf(first))
    }
    expect(await count()).toBe(before)
  })
})

test('a late retry with another body is a new operation, too, and the answers name the earlier resource', async () => {
  const key = randomUUID()
  const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  await expire(key)
  const headers = { prefer: 'respond-async' }

  const second = await postPayment(service.apiUrl, tenant, paymentBody({ amount: 700 }), {
    key,
    headers,
  })

  const reused = await postPayment(service.apiUrl, tenant, paymentBody({ amount: 8 }), { key })

  expect(second.status).toBe(202)
  expectProblem(reused, 'idempotency-key-reused')
  for (const answer of [second, reused]) {
    expect(answer.headers.get(EARLIER)).toBe(locationOf(first))
  }
})

test('a late retry of a capture is refused because of the payment’s status, and names the earlier resource', async () => {
  const key = randomUUID()
  const { id } = await makePayment(service, tenant, 'requires_capture')
  const path = `/v1/payments/${id}/capture`
  const first = await post(service.apiUrl, tenant, path, {}, { key })
  await expire(key)

  const late = await post(service.apiUrl, tenant, path, {}, { key })

  expect(first.status).toBe(200)
  expectProblem(late, 'invalid-state')
  expect(late.headers.get(EARLIER)).toBe(`/v1/payments/${id}`)
})

test('a late retry of an operation without a resource gets the time at which the key expired', async () => {
  const key = randomUUID()
  const created = await post(service.apiUrl, tenant, '/v1/webhook-endpoints', { url: HOOK })
  const delete_ = (url: string) => remove(url, tenant, locationOf(created) ?? '', { key })
  const first = await delete_(service.apiUrl)
  await expire(key)

  const late = await delete_(gone.url)

  expect(first.status).toBe(200)
  expect(late.status).toBe(410)
  expect(late.headers.get(EARLIER)).toBeNull()
  expect(late.headers.get(EXPIRED)).not.toBeNull()
})

test('an expired key cannot be canceled, and the answer names the earlier resource', async () => {
  const key = randomUUID()
  const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  await expire(key)

  const path = `/v1/idempotency-keys/${key}/cancel`
  const answer = await post(service.apiUrl, tenant, path)

  expectProblem(answer, 'idempotency-key-expired')
  expect(answer.headers.get(EARLIER)).toBe(locationOf(first))
})

test('the cancellation of a new use names the earlier resource, while it runs and afterwards', async () => {
  const key = randomUUID()
  const first = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  await expire(key)
  await postPayment(service.apiUrl, tenant, paymentBody(), { key })
  const cancel = () => post(service.apiUrl, tenant, `/v1/idempotency-keys/${key}/cancel`)

  const begun = await cancel()
  const ended = await until(async () => {
    const answer = await cancel()
    return answer.status === 200 ? answer : undefined
  })

  expect(begun.status).toBe(202)
  for (const answer of [begun, ended]) {
    expect(answer.headers.get(EARLIER)).toBe(locationOf(first))
    expect(answer.headers.get(EXPIRED)).not.toBeNull()
  }
})

test('returns 404 and not 410 for a key that was never used', async () => {
  const answer = await get(gone.url, tenant, `/v1/idempotency-keys/${randomUUID()}`)

  expectProblem(answer, 'resource-not-found')
})

test('a late retry of an operation that was abandoned before any effect gets 408', async () => {
  const key = randomUUID()
  const body = paymentBody()
  const created = await postPayment(service.apiUrl, tenant, body, { key })
  await service.store.sql`
    update idempotency_keys set
      status = 'failed_retryable', recovery_point = 'started', phase_began_at = null,
      finished_at = null, response_status = null, response_headers = null, response_body = null
    where tenant_id = ${tenant.id} and key = ${key}
  `
  expect(created.status).toBe(201)
  await expire(key, { deleted: false })
  await reapKeys(service.store)

  const late = await postPayment(service.apiUrl, tenant, body, { key })
  const again = await postPayment(service.apiUrl, tenant, body, { key })

  expectProblem(late, 'operation-timed-out')
  expect(late.headers.get('idempotent-replayed')).toBe('true')
  expect(Date.parse(late.headers.get('idempotency-key-expires') ?? '')).toBeGreaterThan(Date.now())
  expect(again.text).toBe(late.text)
})
