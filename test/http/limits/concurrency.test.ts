// The limits on connections, and on requests that are worked on at a time, in all and of one tenant.
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, jest, test } from '@jest/globals'
import express, { type Request, type Response } from 'express'
import { ANSWERED, sendAnswer } from '../../../src/http/responses/answer.ts'
import { limitConcurrency } from '../../../src/http/limits/concurrency.ts'
import { eventSources } from '../../../src/provider/adapters.ts'
import { fetchApi } from '../../support/documented.ts'
import { get, paymentBody, postPayment } from '../../support/client.ts'
import { limitedApi } from '../../support/for-file.ts'
import { listening } from '../../support/listening.ts'
import type { ServedApi } from '../../support/served-api.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { lockTable, untilWaitingForLock } from '../rude-clients/locked-keys.ts'
import { paymentBytes, sendRaw } from '../rude-clients/raw-connection.ts'

/** One database for all APIs. */
const limited = limitedApi()
/** The API of the test. */
let api: ServedApi

const serve = async (settings: Record<string, string>) => {
  api = await limited.serve(settings)
}

const countKeys = async (...tenants: readonly Tenant[]) =>
  (
    await limited.store.sql`
      select from idempotency_keys where tenant_id in ${limited.store.sql(tenants.map(({ id }) => id))}
    `
  ).count

test('beyond the limit a request is refused at once with a Retry-After, and nothing is written', async () => {
  await serve({ MAX_CONCURRENT_REQUESTS: '1' })
  const tenant = await limited.createTenant()
  const { locked, release } = await lockTable(limited, 'api_keys')

  const first = postPayment(api.url, tenant, undefined, { key: 'first' })
  await untilWaitingForLock(limited)
  const second = await postPayment(api.url, tenant, undefined, { key: 'second' })
  const health = await fetchApi(`${api.url}/healthz`)
  release()
  await locked

  expect(second).toMatchObject({ status: 503, json: { type: '/problems/overloaded' } })
  expect(second.headers.get('retry-after')).toMatch(/^[12]$/)
  expect(health.status).toBe(200)
  expect((await first).status).toBe(202)
  expect((await postPayment(api.url, tenant, undefined, { key: 'second' })).status).toBe(202)
})

test('a tenant gets half of the slots, and the others are free for other tenants', async () => {
  await serve({ MAX_CONCURRENT_REQUESTS: '4' })
  const [greedy, other] = [await limited.createTenant(), await limited.createTenant()]
  const working = [workFor(greedy), workFor(greedy)]

  const refused = await postPayment(api.url, greedy)
  const read = await get(api.url, greedy, '/v1/payments')
  const elsewhere = await postPayment(api.url, other)
  working[0]?.emit(ANSWERED)
  const later = await postPayment(api.url, greedy)
  working[1]?.emit(ANSWERED)

  const problem = { status: 429, json: { type: '/problems/too-many-concurrent-requests' } }
  expect(refused).toMatchObject(problem)
  expect(refused.headers.get('retry-after')).toMatch(/^[12]$/)
  expect(read).toMatchObject(problem)
  expect([elsewhere.status, later.status]).toEqual([202, 202])
  expect(await countKeys(greedy, other)).toBe(2)
})

/** Takes a slot for a request of the tenant, until its response emits ANSWERED. */
function workFor({ id }: Tenant): Response {
  const { slots } = api.parts.limits
  const [request, response] = [{ path: '/v1/payments' } as Request, new EventEmitter() as Response]
  slots.take(request, response)
  slots.assign(request, id)
  return response
}

test('bodies of a tenant that are arriving occupy its half of the slots', async () => {
  await serve({ MAX_CONCURRENT_REQUESTS: '4' })
  const [slow, other] = [await limited.createTenant(), await limited.createTenant()]
  const sockets = [await beginPayment(api.url, slow), await beginPayment(api.url, slow)]

  const own = await postPayment(api.url, slow)
  const elsewhere = await postPayment(api.url, other)
  for (const socket of sockets) socket.destroy()

  expect(own).toMatchObject({
    status: 429,
    json: { type: '/problems/too-many-concurrent-requests' },
  })
  expect(elsewhere.status).toBe(202)
  expect(await countKeys(slow, other)).toBe(1)
})

const OPEN_SETTINGS = {
  ADMIN_API_KEY: 'adm_alice_0123456789abcdef0123',
  CONSOLE: 'on',
}

const ofProviders = eventSources.map(({ route }) => [
  route.path,
  route.form === undefined ? 'application/json' : 'application/x-www-form-urlencoded',
])

test.each([...ofProviders, ['/console/session', 'application/json']])(
  'of many bodies that arrive at %s, one in ten slots is kept',
  async (path, type) => {
    await serve({ ...OPEN_SETTINGS, MAX_CONCURRENT_REQUESTS: '10' })
    const never = () => Promise.reject(new Error('no event arrives'))
    Object.assign(api.parts.providers, {
      eventReaders: new Map(eventSources.map(({ name }) => [name, never])),
    })
    const { hostname, port } = new URL(api.url)
    const head = `POST ${path} HTTP/1.1\r\nhost: api\r\ncontent-type: ${type}\r\ncontent-length: 100\r\n`
    const begin = async () => {
      const socket = connect(Number(port), hostname)
      const answer = once(socket, 'data').then(([data]) => String(data))
      socket.write(`${head}\r\n{`)
      return { socket, answer }
    }
    const first = await begin()
    const second = await begin()
    const answered = await Promise.race([first.answer, second.answer])
    first.socket.destroy()
    second.socket.destroy()

    expect(answered).toMatch(/^HTTP\/1\.1 503 [^]*overloaded/)
  },
)

test('slow senders of unsigned events block neither tenants nor the provider', async () => {
  await serve({
    MAX_CONCURRENT_REQUESTS: '2',
    STRIPE_WEBHOOK_SECRET: 'whsec_test',
  })

  const tenant = await limited.createTenant()
  const events = `${api.url}/provider/webhooks`
  const { hostname, port } = new URL(api.url)
  const unsigned = connect(Number(port), hostname)
  const type = 'content-type: application/json\r\n'
  unsigned.write(`POST /provider/webhooks HTTP/1.1\r\nhost: api\r\n${type}`)
  unsigned.write('expect: 100-continue\r\ncontent-length: 100\r\n\r\n')
  // It occupies a slot now.
  await once(unsigned, 'data')

  const payment = await postPayment(api.url, tenant)
  const headers = { 'content-type': 'application/json' }
  const event = await fetchApi(events, { method: 'POST', headers, body: '{}' })
  unsigned.destroy()

  expect(payment.status).toBe(202)
  // The event was read, and refused because it is not signed.
  expect(event.status).toBe(400)
})

/** Sends a payment whose body arrives in part; resolves when the API reads it. */
async function beginPayment(url: string, tenant: Tenant): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = JSON.stringify(paymentBody())
  const head = [
    'POST /v1/payments HTTP/1.1',
    'host: api',
    `authorization: Bearer ${tenant.apiKey}`,
    `idempotency-key: ${randomUUID()}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  const reading = jest.spyOn(api.parts.limits.slots, 'whileArriving')
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
  await until(() => reading.mock.calls.length > 0)
  reading.mockRestore()
  return socket
}

test('an answer that its client does not read occupies no slot', async () => {
  await serve({ MAX_CONCURRENT_REQUESTS: '1' })
  const largerThanAllBuffers = 'x'.repeat(50_000_000)
  const app = express()
    .use(limitConcurrency(api.parts.limits.slots, new Set()))
    .get('/large', (_request, response) =>
      sendAnswer(response, { status: 200, body: largerThanAllBuffers }),
    )
    .get('/small', (_request, response) => sendAnswer(response, { status: 200, body: 'small' }))
  const { port, url, stop } = await listening(createServer(app))
  const nonReader = connect(port, '127.0.0.1')
  nonReader.write('GET /large HTTP/1.1\r\nhost: api\r\n\r\n')
  // The answer has begun to arrive. It is not read any further.
  await once(nonReader, 'readable')

  const other = await (await sendRaw(url, 'GET /small HTTP/1.0\r\n\r\n')).untilClosed()
  nonReader.destroy()
  await stop()

  expect(other).toMatchObject([{ status: 200, body: 'small' }])
})

test('a request that waits for its result occupies no slot', async () => {
  await serve({ MAX_CONCURRENT_REQUESTS: '1' })
  const tenant = await limited.createTenant()
  const ended = new AbortController()
  const waiting = postPayment(api.url, tenant, undefined, {
    headers: { prefer: 'wait=20' },
    signal: ended.signal,
  }).catch(() => {})
  await until(() => api.parts.keyed.watch.waiting() === 1)

  const other = await postPayment(api.url, tenant)
  ended.abort()
  await waiting

  expect(other.status).toBe(202)
  await until(() => api.parts.keyed.watch.waiting() === 0)
})

test('requests of a tenant wait in half of the waiting slots, and others get 202 at once', async () => {
  await serve({ MAX_WAITING_REQUESTS: '4', MAX_CONCURRENT_REQUESTS: '2' })
  const [greedy, other] = [await limited.createTenant(), await limited.createTenant()]
  const { watch } = api.parts.keyed
  const ended = new AbortController()
  const wait = (tenant: Tenant) =>
    postPayment(api.url, tenant, undefined, {
      headers: { prefer: 'wait=20' },
      signal: ended.signal,
    })
  const waiting: Promise<unknown>[] = []
  for (const count of [1, 2]) {
    waiting.push(wait(greedy).catch(() => {}))
    await until(() => watch.waiting(greedy.id) === count)
  }

  const third = await wait(greedy)
  waiting.push(wait(other).catch(() => {}))
  await until(() => watch.waiting(other.id) === 1)
  ended.abort()
  await Promise.all(waiting)

  expect(third.status).toBe(202)
  expect(third.headers.get('preference-applied')).toBe('wait=20')
  await until(() => watch.waiting() === 0 && watch.waiting(greedy.id) === 0)
})

test('a request that is accepted while too many wait gets 202 at once', async () => {
  await serve({ MAX_WAITING_REQUESTS: '0' })
  const tenant = await limited.createTenant()

  const answer = await postPayment(api.url, tenant, undefined, { headers: { prefer: 'wait=20' } })

  expect(answer.status).toBe(202)
})

test('beyond the limit a new connection is closed, and those before stay', async () => {
  await serve({ MAX_CONNECTIONS: '1' })
  const tenant = await limited.createTenant()
  const { locked, release } = await lockTable(limited)
  const paying = await sendRaw(api.url, paymentBytes(tenant, 'first'))
  await untilWaitingForLock(limited)

  const other = await sendRaw(api.url, paymentBytes(tenant, 'other'))
  expect(await other.untilClosed()).toEqual([])
  release()
  await locked
  const [answer] = await paying.untilAnswered(1)
  paying.socket.destroy()

  expect(answer?.status).toBe(202)
  expect(await countKeys(tenant)).toBe(1)
})
