// The time limits for clients, and the problems for requests that the app never sees.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { anotherApi, limitedApi } from '../../support/for-file.ts'
import { sendRaw } from '../rude-clients/raw-connection.ts'

const BRIEF = { HTTP_KEEP_ALIVE_SECONDS: '1' }
const TIMEOUTS = { checkIntervalMs: 50, silenceMaxMs: 30_000 }

const api = limitedApi(BRIEF, TIMEOUTS)
const stripe = anotherApi(api, { ...BRIEF, IDEMPOTENCY_FLAVOR: 'stripe' })

const HOST = 'host: api\r\n'

// One row for each problem and each way to it. The corpus of `verify/fuzz` has the others.
// prettier-ignore
const refused: [what: string, type: string, status: number, bytes: string][] = [
  ['bytes that are not HTTP', 'malformed-request', 400, 'nonsense\r\n\r\n'],
  ['a request without Host', 'malformed-request', 400, 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['headers of more than 16 KiB', 'headers-too-large', 431, `GET /healthz HTTP/1.1\r\n${HOST}x-long: ${'a'.repeat(17_000)}\r\n\r\n`],
  ['an unknown expectation', 'expectation-failed', 417, `GET /healthz HTTP/1.1\r\n${HOST}expect: the-unexpected\r\n\r\n`],
  ['headers that do not end', 'request-timeout', 408, `GET /healthz HTTP/1.1\r\n${HOST}x-slow: `],
  ['a chunked body with HTTP/1.0', 'malformed-request', 400, `POST /v1/payments HTTP/1.0\r\n${HOST}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a URL without a host', 'malformed-request', 400, `GET http://[ HTTP/1.1\r\n${HOST}\r\n`],
  ['a URL without a path', 'malformed-request', 400, `GET api://?a HTTP/1.1\r\n${HOST}\r\n`],
]

describe('a malformed request is answered with a problem:', () => {
  test.each(refused)('%s', async (_what, type, status, bytes) => {
    const [answer] = await (await sendRaw(api.url, bytes)).untilClosed()

    expect(answer).toMatchObject({
      status,
      headers: {
        'content-type': 'application/problem+json; charset=utf-8',
        connection: 'close',
        'cache-control': 'no-store',
      },
      json: { type: `/problems/${type}`, status },
    })
    expect(answer?.headers['request-id']).toMatch(/^req_/)
    expect(answer?.headers).not.toHaveProperty('stripe-should-retry')
  })

  test.each(refused)('%s, in the flavor stripe', async (_what, type, _status, bytes) => {
    const [answer] = await (await sendRaw(stripe.url, bytes)).untilClosed()

    expect(answer?.status).toBeGreaterThanOrEqual(400)
    expect(answer?.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'stripe-should-retry': 'false',
    })
    expect(answer?.json).toMatchObject({
      error: { doc_url: `/problems/${type}`, message: expect.any(String) },
    })
  })
})

test.each([
  ['headers that never end', `GET /healthz HTTP/1.1\r\n${HOST}x-slow: `],
  ['no HTTP', 'nonsense\r\n\r\n'],
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

test('a client that requests a tunnel is disconnected', async () => {
  const { hostname, port } = new URL(api.url)
  const socket = connect(Number(port), hostname).resume()
  socket.write(`CONNECT api:80 HTTP/1.1\r\n${HOST}\r\n`)
  await once(socket, 'close')

  const other = await sendRaw(api.url, 'GET /healthz HTTP/1.0\r\n\r\n')
  expect(await other.untilClosed()).toMatchObject([{ status: 200 }])
})
