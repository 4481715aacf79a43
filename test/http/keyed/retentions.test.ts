// What clients get when operations have retentions of their own: until when a key is kept, how late a
// request may arrive that says when it was first sent, and the policy.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { paymentBody, post, read, remove, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

const DAY = 86_400
const WEEK = 7 * DAY
const MONTH = 30 * DAY
const SKEW = 300

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi({
    WEBHOOK_ALLOW_INSECURE: 'true',
    KEY_RETENTION_SECONDS_BY_OPERATION: `payment.create=${WEEK},webhook_endpoint.delete=${MONTH}`,
  })
  tenant = await api.createTenant()
})
afterAll(() => api.stop())

const ENDPOINTS = '/v1/webhook-endpoints'
const bodies: Readonly<Record<string, object>> = {
  '/v1/payments': paymentBody(),
  [ENDPOINTS]: { url: 'http://127.0.0.1:9/hooks' },
}

/** Sends a request that was first sent some time ago. */
const sendOf = (path: string, seconds: number): Promise<ApiResponse> => {
  const firstSent = new Date(Date.now() - seconds * 1_000).toUTCString()
  const headers = { 'repeatability-first-sent': firstSent }
  return post(api.url, tenant, path, bodies[path], { headers })
}

function expectKept(until: unknown, seconds: number): void {
  const ahead = (new Date(String(until)).getTime() - Date.now()) / 1_000
  expect(Math.abs(ahead - seconds)).toBeLessThan(60)
}

test.each([
  ['/v1/payments', WEEK],
  [ENDPOINTS, DAY],
])('a key of POST %s is kept for %s s', async (path, seconds) => {
  const answer = await sendOf(path, 0)

  expect(answer.status).toBeLessThan(300)
  expectKept(answer.headers.get('idempotency-key-expires'), seconds)
})

test('a key of a local operation is kept as long as its operation says', async () => {
  const { json } = await sendOf(ENDPOINTS, 0)

  const removed = await remove(api.url, tenant, `${ENDPOINTS}/${String(json['id'])}`)

  expect(removed.json).toMatchObject({ deleted: true })
  expectKept(removed.headers.get('idempotency-key-expires'), MONTH)
})

test.each([
  ['/v1/payments', WEEK],
  [ENDPOINTS, DAY],
])('a request of POST %s may be executed until it is %s s old', async (path, seconds) => {
  const younger = await sendOf(path, seconds - SKEW - 60)
  const older = await sendOf(path, seconds - SKEW + 60)

  expect(younger.status).toBeLessThan(300)
  expectProblem(older, 'repeatability-first-sent-too-old')
})

async function cancel(key: string): Promise<ApiResponse> {
  const headers = { authorization: `Bearer ${tenant.apiKey}` }
  const path = `${api.url}/v1/idempotency-keys/${key}/cancel`
  return await read(await fetchApi(path, { method: 'POST', headers }))
}

test('a key that is canceled before its use is kept for the longest retention', async () => {
  const { json } = await cancel(randomUUID())

  expect(json).toMatchObject({ operation: 'idempotency_key.cancel', cancellation: 'prevented' })
  expectKept(json['expires_at'], MONTH)
})

test('a key whose operation is to be undone is kept for a retention of it from then on', async () => {
  const key = randomUUID()
  const { status } = await post(api.url, tenant, '/v1/payments', paymentBody(), { key })
  expect(status).toBe(202)
  await api.store.sql`
    update idempotency_keys set expires_at = now(), in_doubt = true where key = ${key}
  `

  const { json } = await cancel(key)

  expect(json).toMatchObject({ cancellation: 'in_progress' })
  expectKept(json['expires_at'], WEEK)
})

test('the policy states them', async () => {
  const policy = await read(await fetchApi(`${api.url}/.well-known/idempotency-policy`))

  expect(policy.json).toMatchObject({
    retention_seconds: DAY,
    retention_seconds_by_operation: { 'payment.create': WEEK, 'webhook_endpoint.delete': MONTH },
    first_sent: {
      max_age_seconds: DAY - SKEW,
      max_age_seconds_by_operation: {
        'payment.create': WEEK - SKEW,
        'webhook_endpoint.delete': MONTH - SKEW,
      },
    },
  })
})

test('an API with a retention for an operation that does not exist does not start', async () => {
  const KEY_RETENTION_SECONDS_BY_OPERATION = `payment.refund=${WEEK}`

  await expect(api.serve({ KEY_RETENTION_SECONDS_BY_OPERATION })).rejects.toThrow(
    'KEY_RETENTION_SECONDS_BY_OPERATION names an unknown operation; there are payment.create, ',
  )
})
