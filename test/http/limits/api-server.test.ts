// The time limits for clients, and the problems for requests that Node refuses before the app sees
// them.
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { paymentBody } from '../../support/client.ts'
import {
  exchangeRaw,
  parseRaw,
  startLimitedApi,
  type LimitedApi,
} from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'

const BRIEF = { HTTP_KEEP_ALIVE_SECONDS: '1' }
const TIMEOUTS = { checkIntervalMs: 50, silenceMaxMs: 30_000 }

let api: LimitedApi
let tenant: Tenant
let stripeUrl: string

beforeAll(async () => {
  api = await startLimitedApi(BRIEF, TIMEOUTS)
  tenant = await api.createTenant()
  stripeUrl = (await api.serve({ ...BRIEF, IDEMPOTENCY_FLAVOR: 'stripe' })).url
})

afterAll(() => api.stop())

const HOST = 'host: api\r\n'

const refused: [what: string, type: string, status: number, bytes: string][] = [
  ['bytes that are not HTTP', 'malformed-request', 400, 'nonsense\r\n\r\n'],
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
    'an unknown expectation',
    'expectation-failed',
    417,
    `GET /healthz HTTP/1.1\r\n${HOST}expect: the-unexpected\r\n\r\n`,
  ],
  ['headers that do not end', 'request-timeout', 408, `GET /healthz HTTP/1.1\r\n${HOST}x-slow: `],
  ['two Hosts', 'malformed-request', 400, `GET /healthz HTTP/1.1\r\n${HOST}${HOST}\r\n`],
  ['an unknown HTTP version', 'malformed-request', 400, `GET /healthz HTTP/2.0\r\n${HOST}\r\n`],
  [
    'a chunked body with HTTP/1.0',
    'malformed-request',
    400,
    `POST /v1/payments HTTP/1.0\r\n${HOST}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'a transfer coding that a proxy may remove',
    'malformed-request',
    400,
    `POST /v1/payments HTTP/1.1\r\n${HOST}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['a URL without a host', 'malformed-request', 400, `GET http://[ HTTP/1.1\r\n${HOST}\r\n`],
  ['a URL without a path', 'malformed-request', 400, `GET api://?a HTTP/1.1\r\n${HOST}\r\n`],
  ['a tunnel', 'route-not-found', 404, `CONNECT api:80 HTTP/1.1\r\n${HOST}\r\n`],
]

describe('a malformed request is answered with a problem:', () => {
  test.each(refused)('%s', async (_what, type, status, bytes) => {
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
    expect(answer.headers).not.toHaveProperty('stripe-should-retry')
  })

  test.each(refused)('%s, in the flavor stripe', async (_what, type, _status, bytes) => {
    const answer = parseRaw(await exchangeRaw(stripeUrl, bytes))

    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'stripe-should-retry': 'false',
    })
    expect(answer.json).toMatchObject({
      error: { doc_url: `/problems/${type}`, message: expect.any(String) },
    })
  })
})

/** The bytes of a payment, for a connection on which more bytes follow. */
function paymentBytes(key: string): string {
  const body = JSON.stringify(paymentBody())
  const head = [
    'POST /v1/payments HTTP/1.1',
    'host: api',
    `authorization: Bearer ${tenant.apiKey}`,
    `idempotency-key: ${key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}

describe('after a payment on the same connection', () => {
  test.each([
    ['bytes that are not HTTP', 'no http at all\r\n\r\n'],
    [
      'a body of broken chunks',
      `POST /v1/payments HTTP/1.1\r\n${HOST}transfer-encoding: chunked\r\n\r\nZZ\r\n`,
    ],
  ])('%s are refused only after the answer to the payment', async (what, bytes) => {
    const key = what.replaceAll(' ', '-')
    const received = await exchangeRaw(api.url, paymentBytes(key) + bytes)
    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)

    expect(statuses[0]).toBe('202')
    expect(statuses.at(-1)).not.toBe('202')
    const rows = await api.store.sql`select from idempotency_keys where key = ${key}`
    expect(rows).toHaveLength(1)
  })
})

test('the request target may be a whole URL', async () => {
  const answer = await exchangeRaw(
    api.url,
    `GET http://api/healthz HTTP/1.1\r\n${HOST}connection: close\r\n\r\n`,
  )

  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('a request with HTTP/1.0 needs no Host', async () => {
  const answer = await exchangeRaw(api.url, 'GET /healthz HTTP/1.0\r\n\r\n')

  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('returns 408 and closes the connection when a body does not arrive within five seconds', async () => {
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
  // Only this limit says that it comes in time.
}, 20_000)

test.each([
  ['headers that never end', `GET /healthz HTTP/1.1\r\n${HOST}x-slow: `],
  ['no HTTP', 'nonsense\r\n\r\n'],
  ['a tunnel', `CONNECT api:80 HTTP/1.1\r\n${HOST}\r\n`],
])('a client that is refused for %s and keeps sending is disconnected', async (_what, bytes) => {
  const { hostname, port } = new URL(api.url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true }).resume()
  const cut = once(socket, 'error').then(([error]) => (error as NodeJS.ErrnoException).code)
  socket.write(bytes)
  const dripping = setInterval(() => socket.write('a'), 50)
  try {
    // A client that keeps sending is never idle: only this limit ends the test.
    expect(['ECONNRESET', 'EPIPE']).toContain(await cut)
  } finally {
    clearInterval(dripping)
    socket.destroy()
  }
})

test('a client that sends only empty lines after a request is disconnected', async () => {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname).resume()
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
  socket.write(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`)
  const dripping = setInterval(() => socket.write('\r\n'), 50)
  const startedAt = performance.now()
  await closed
  clearInterval(dripping)

  // It may be idle for as long as any other connection.
  expect(performance.now() - startedAt).toBeGreaterThan(1_000)
}, 20_000)

test('a client that requests a tunnel and resets the connection crashes nothing', async () => {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname)
  socket.write(`CONNECT api:80 HTTP/1.1\r\n${HOST}\r\n`, () => socket.resetAndDestroy())
  await once(socket, 'close')

  expect(await exchangeRaw(api.url, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/ 200 /)
})

test('the connection of a client that reads no answers is closed', async () => {
  const impatient = await startLimitedApi(
    { WAIT_MAX_SECONDS: '0' },
    { ...TIMEOUTS, silenceMaxMs: 300 },
  )
  try {
    const { hostname, port } = new URL(impatient.url)
    const socket = connect(Number(port), hostname).pause()
    socket.on('error', () => {})
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const request = `GET /openapi.yaml HTTP/1.1\r\n${HOST}\r\n`
    // More than all buffers together hold. A client that never reads notices the end only by
    // writing.
    const sending = setInterval(() => socket.write(request), 10)
    await closed
    clearInterval(sending)

    expect(socket.bytesRead).toBeLessThan(1_000_000)
  } finally {
    await impatient.stop()
  }
})
