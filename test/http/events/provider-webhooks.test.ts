// POST /provider/webhooks stores a signed event once before it acknowledges it, and stores nothing
// else.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import Stripe from 'stripe'
import { createApiServer } from '../../../src/http/limits/api-server.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { readConfig } from '../../../src/config.ts'
import type { Store } from '../../../src/db/connection/client.ts'
import { PROVIDER_EVENTS_QUEUE } from '../../../src/db/queue/queues.ts'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import type { ApiParts } from '../../../src/http/endpoint.ts'
import { wireApi } from '../../../src/wiring.ts'
import { ENCRYPTION_KEYS } from '../../support/encryption.ts'
import { read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { openTestStore } from '../../db/reservations.ts'

const SECRET = 'whsec_test'

let database: TestDatabase
/** Connects as the owner of the tables, which sees the rows of all tenants. */
let owner: Store
let parts: ApiParts
let server: Server
let woken: number

beforeAll(async () => {
  database = await createTestDatabase()
  owner = openTestStore(database.url, 1)
  const settings = { DATABASE_URL: database.url, STRIPE_WEBHOOK_SECRET: SECRET, ENCRYPTION_KEYS }
  const config = readConfig(settings)
  parts = {
    ...(await wireApi(config, pino({ level: 'silent' }))),
    wakeEventWorkers: () => void (woken += 1),
  }
  server = await serve(parts)
})
beforeEach(async () => {
  woken = 0
  await owner.sql`delete from provider_events`
  await owner.sql`delete from atomic_jobs.job`
})
afterAll(async () => {
  server.close()
  parts.watch.stop()
  await parts.store.close()
  await owner.close()
  await database.drop()
})

async function serve(served: ApiParts): Promise<Server> {
  const started = createApiServer(createApp(served), served).listen(0, '127.0.0.1')
  await once(started, 'listening')
  return started
}

/** A body as Stripe sends it; tests override members. */
function eventBody(members: Record<string, unknown> = {}): string {
  return JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type: 'payment_intent.succeeded',
    created: 1_800_000_000,
    data: { object: { id: 'pi_1', object: 'payment_intent' } },
    ...members,
  })
}

const sign = (payload: string, secret = SECRET) =>
  Stripe.webhooks.generateTestHeaderString({ payload, secret })

async function send(
  body: string,
  headers: Record<string, string> = { 'stripe-signature': sign(body) },
  to: Server = server,
): Promise<ApiResponse> {
  const { port } = to.address() as AddressInfo
  const response = await fetchApi(`http://127.0.0.1:${port}/provider/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body,
  })
  return await read(response)
}

const storedEvents = () => owner.sql`select * from provider_events order by id`
const jobs = () =>
  owner.sql<{ name: string; data: unknown }[]>`select name, data from atomic_jobs.job`

describe('a signed event', () => {
  test('is stored with its job, and acknowledged', async () => {
    const [tenantId, paymentId] = [randomUUID(), randomUUID()]
    const metadata = { atomic_tenant: tenantId, atomic_payment: showPaymentId(paymentId) }
    const object = { id: 'pi_1', object: 'payment_intent', metadata }

    const response = await send(eventBody({ data: { object } }))

    expect(response).toMatchObject({ status: 200, json: { received: true } })
    expect(await storedEvents()).toMatchObject([
      {
        provider: 'stripe',
        id: 'evt_1',
        type: 'payment_intent.succeeded',
        object_id: 'pi_1',
        provider_payment_id: 'pi_1',
        tenant_id: tenantId,
        payment_id: paymentId,
        status: 'pending',
        settled_at: null,
      },
    ])
    expect(await jobs()).toEqual([
      { name: PROVIDER_EVENTS_QUEUE, data: { provider: 'stripe', eventId: 'evt_1', tenantId } },
    ])
    expect(woken).toBe(1)
  })

  test('that is repeated is acknowledged again, but stored once with one job', async () => {
    const responses = await Promise.all(Array.from({ length: 5 }, () => send(eventBody())))

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(await storedEvents()).toHaveLength(1)
    expect(await jobs()).toHaveLength(1)
    expect(woken).toBe(1)
  })

  test('may be much larger than the bodies of clients', async () => {
    const object = { id: 'pi_1', object: 'payment_intent', description: 'x'.repeat(1_000_000) }

    expect((await send(eventBody({ data: { object } }))).status).toBe(200)
  })

  test('needs neither an API key nor an idempotency key', async () => {
    const body = eventBody()

    const response = await send(body, { 'stripe-signature': sign(body) })

    expect(response.status).toBe(200)
  })
})

describe('is refused, and nothing is stored:', () => {
  const body = eventBody()
  const signedAt = (seconds: number) =>
    Stripe.webhooks.generateTestHeaderString({
      payload: body,
      secret: SECRET,
      timestamp: Math.floor(Date.now() / 1_000) + seconds,
    })
  const [old, early] = [signedAt(-400), signedAt(400)]

  test.each<[string, string, Record<string, string>, number, string]>([
    ['no signature', body, {}, 400, 'webhook-signature-invalid'],
    [
      'another secret',
      body,
      { 'stripe-signature': sign(body, 'whsec_x') },
      400,
      'webhook-signature-invalid',
    ],
    [
      'another body',
      `${body} `,
      { 'stripe-signature': sign(body) },
      400,
      'webhook-signature-invalid',
    ],
    ['an old signature', body, { 'stripe-signature': old }, 400, 'webhook-too-old'],
    ['a signature of the future', body, { 'stripe-signature': early }, 400, 'webhook-too-old'],
    [
      'a signed body that is not an event',
      '{}',
      { 'stripe-signature': sign('{}') },
      400,
      'webhook-malformed',
    ],
    [
      'a body that is not JSON',
      body,
      { 'stripe-signature': sign(body), 'content-type': 'text/plain' },
      415,
      'unsupported-content-type',
    ],
    ['more than 1 MiB', 'x'.repeat(1024 * 1024 + 1), {}, 413, 'body-too-large'],
  ])('%s', async (_title, sent, headers, status, type) => {
    const response = await send(sent, headers)

    expect(response).toMatchObject({ status, json: { type: `/problems/${type}` } })
    expect(await storedEvents()).toEqual([])
    expect(await jobs()).toEqual([])
  })

  test('every event when no secret is set', async () => {
    const unset = await serve({ ...parts, eventReaders: new Map() })

    const response = await send(body, { 'stripe-signature': sign(body) }, unset)
    unset.close()

    expect(response).toMatchObject({ status: 404, json: { type: '/problems/route-not-found' } })
    expect(await storedEvents()).toEqual([])
  })
})

test('neither stores nor acknowledges an event while the queue is missing', async () => {
  const { sql } = owner
  await sql`update atomic_jobs.queue set name = 'elsewhere' where name = ${PROVIDER_EVENTS_QUEUE}`

  const response = await send(eventBody())
  await sql`update atomic_jobs.queue set name = ${PROVIDER_EVENTS_QUEUE} where name = 'elsewhere'`

  expect(response.status).toBe(500)
  expect(await storedEvents()).toEqual([])
})
