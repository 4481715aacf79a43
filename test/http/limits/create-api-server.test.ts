import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  exchangeRaw,
  parseRaw,
  startLimitedApi,
  type LimitedApi,
} from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi({}, { headersTimeoutMs: 300, checkIntervalMs: 50 })
  tenant = await api.createTenant()
})

afterAll(() => api.stop())

const HOST = 'host: api\r\n'

describe('what Node refuses by itself has the body of a problem:', () => {
  test.each([
    ['bytes that are no HTTP', 'malformed-request', 400, 'nonsense\r\n\r\n'],
    ['a request without Host', 'malformed-request', 400, 'GET /healthz HTTP/1.1\r\n\r\n'],
    [
      'two lengths for one body',
      'malformed-request',
      400,
      `POST /v1/payments HTTP/1.1\r\n${HOST}content-length: 1\r\ncontent-length: 2\r\n\r\na`,
    ],
    [
      'a length and chunks at once',
      'malformed-request',
      400,
      `POST /v1/payments HTTP/1.1\r\n${HOST}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\na`,
    ],
    [
      'headers of more than 16 KiB',
      'headers-too-large',
      431,
      `GET /healthz HTTP/1.1\r\n${HOST}x-long: ${'a'.repeat(17_000)}\r\n\r\n`,
    ],
    [
      'an expectation that nobody knows',
      'expectation-failed',
      417,
      `GET /healthz HTTP/1.1\r\n${HOST}expect: the-unexpected\r\n\r\n`,
    ],
    ['headers that do not end', 'request-timeout', 408, `GET /healthz HTTP/1.1\r\n${HOST}x-slow: `],
  ])('%s', async (_what, type, status, bytes) => {
    const answer = parseRaw(await exchangeRaw(api.url, bytes))

    expect(answer).toMatchObject({
      status,
      headers: {
        'content-type': 'application/problem+json; charset=utf-8',
        connection: 'close',
        'cache-control': 'no-store',
      },
      json: { type: `/problems/${type}`, status },
    })
    expect(answer.headers['request-id']).toMatch(/^req_/)
  })
})

test('a request of HTTP/1.0 needs no Host', async () => {
  const answer = await exchangeRaw(api.url, 'GET /healthz HTTP/1.0\r\n\r\n')

  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('a body that does not arrive within five seconds is 408, and the connection ends', async () => {
  const head = [
    'POST /v1/payments HTTP/1.1',
    'host: api',
    `authorization: Bearer ${tenant.apiKey}`,
    'idempotency-key: too-slow',
    'content-type: application/json',
    'content-length: 100',
  ]
  const startedAt = performance.now()
  const answer = parseRaw(await exchangeRaw(api.url, `${head.join('\r\n')}\r\n\r\n{"amount":`))

  expect(answer).toMatchObject({
    status: 408,
    headers: { connection: 'close' },
    json: { type: '/problems/request-timeout' },
  })
  expect(performance.now() - startedAt).toBeGreaterThan(4_900)
  const rows = await api.store.sql`select from idempotency_keys where key = 'too-slow'`
  expect(rows).toHaveLength(0)
}, 20_000)
