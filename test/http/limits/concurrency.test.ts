import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import express from 'express'
import { sendAnswer } from '../../../src/http/answer.ts'
import { limitConcurrency } from '../../../src/http/limits/concurrency.ts'
import { fetchApi } from '../../support/documented.ts'
import { postPayment } from '../../support/client.ts'
import { exchangeRaw, startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'

let api: LimitedApi
afterEach(() => api.stop())

test('beyond the bound a request is told at once to come again, and nothing is written', async () => {
  api = await startLimitedApi({ MAX_CONCURRENT_REQUESTS: '1' })
  const tenant = await api.createTenant()
  const { sql } = api.store
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let lock = () => {}
  const locked = new Promise<void>((resolve) => {
    lock = resolve
  })
  const locking = sql.begin(async (tx) => {
    await tx`lock table api_keys in access exclusive mode`
    lock()
    await held
  })
  await locked

  const first = postPayment(api.url, tenant, undefined, { key: 'first' })
  await untilWaitingForLock(api)
  const second = await postPayment(api.url, tenant, undefined, { key: 'second' })
  const health = await fetchApi(`${api.url}/healthz`)
  release()
  await locking

  expect(second).toMatchObject({ status: 503, json: { type: '/problems/overloaded' } })
  expect(second.headers.get('retry-after')).toBe('1')
  expect(health.status).toBe(200)
  expect((await first).status).toBe(202)
  expect((await postPayment(api.url, tenant, undefined, { key: 'second' })).status).toBe(202)
})

test('strangers who send events slowly leave most places to the others', async () => {
  api = await startLimitedApi({
    MAX_CONCURRENT_REQUESTS: '2',
    STRIPE_WEBHOOK_SECRET: 'whsec_test',
  })
  const tenant = await api.createTenant()
  const events = `${api.url}/provider/webhooks`
  const { hostname, port } = new URL(api.url)
  const stranger = connect(Number(port), hostname)
  const type = 'content-type: application/json\r\n'
  stranger.write(`POST /provider/webhooks HTTP/1.1\r\nhost: api\r\n${type}`)
  stranger.write('expect: 100-continue\r\ncontent-length: 100\r\n\r\n')
  // It has its place now.
  await once(stranger, 'data')

  const second = await fetchApi(events, { method: 'POST', body: '{}' })
  const payment = await postPayment(api.url, tenant)
  stranger.destroy()

  expect(second.status).toBe(503)
  expect(second.headers.get('retry-after')).toBe('1')
  expect(payment.status).toBe(202)
})

test('an answer that its client does not take keeps no place', async () => {
  api = await startLimitedApi({ MAX_CONCURRENT_REQUESTS: '1' })
  const moreThanAnyBufferHolds = 'x'.repeat(50_000_000)
  const app = express()
    .use(limitConcurrency(api.parts))
    .get('/large', (_request, response) =>
      sendAnswer(response, { status: 200, body: moreThanAnyBufferHolds }),
    )
    .get('/small', (_request, response) => sendAnswer(response, { status: 200, body: 'small' }))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const reluctant = connect(port, '127.0.0.1')
  reluctant.write('GET /large HTTP/1.1\r\nhost: api\r\n\r\n')
  // It has begun to arrive, and is not read any further.
  await once(reluctant, 'readable')

  const other = await exchangeRaw(`http://127.0.0.1:${port}`, 'GET /small HTTP/1.0\r\n\r\n')
  reluctant.destroy()
  server.close()

  expect(other).toMatch(/ 200 [^]*\r\n\r\nsmall$/)
})

test('a request that waits for its result takes no place of one that is worked on', async () => {
  api = await startLimitedApi({ MAX_CONCURRENT_REQUESTS: '1' })
  const tenant = await api.createTenant()
  const ended = new AbortController()
  const waiting = postPayment(api.url, tenant, undefined, {
    headers: { prefer: 'wait=20' },
    signal: ended.signal,
  }).catch(() => {})
  await until(() => api.parts.watch.waiting() === 1)

  const other = await postPayment(api.url, tenant)
  ended.abort()
  await waiting

  expect(other.status).toBe(202)
  await until(() => api.parts.watch.waiting() === 0)
})

test('what is accepted while too many wait is answered 202 without a wait', async () => {
  api = await startLimitedApi({ MAX_WAITING_REQUESTS: '0' })
  const tenant = await api.createTenant()

  const answer = await postPayment(api.url, tenant, undefined, { headers: { prefer: 'wait=20' } })

  expect(answer.status).toBe(202)
})

async function untilWaitingForLock({ store }: LimitedApi): Promise<void> {
  for (;;) {
    const rows = await store.sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
    `
    if (rows.length > 0) return
  }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
