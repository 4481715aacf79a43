// A signed event is stored once before it is acknowledged. `verify/fuzz` has the refusals.
import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import Stripe from 'stripe'
import { PROVIDER_EVENTS_QUEUE } from '../../../src/db/queue/jobs.ts'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { limitedApi } from '../../support/for-file.ts'

const SECRET = 'whsec_test'
const JSON_TYPE = 'application/json; charset=utf-8'

const api = limitedApi({ STRIPE_WEBHOOK_SECRET: SECRET })

/** An API without secrets of providers. */
let bareUrl: string
let woken: number

beforeAll(async () => {
  Object.assign(api.parts.wake, { eventWorkers: () => void (woken += 1) })
  bareUrl = (await api.serve({})).url
})
beforeEach(async () => {
  woken = 0
  await api.store.sql`delete from provider_events`
  await api.store.sql`delete from atomic_jobs.job`
})

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

async function send(body: string, url = api.url): Promise<ApiResponse> {
  const signature = Stripe.webhooks.generateTestHeaderString({ payload: body, secret: SECRET })
  const headers = { 'content-type': JSON_TYPE, 'stripe-signature': signature }
  return await read(await fetchApi(`${url}/provider/webhooks`, { method: 'POST', headers, body }))
}

const storedEvents = () => api.store.sql`select * from provider_events order by id`
const jobs = () =>
  api.store.sql<{ name: string; data: unknown }[]>`select name, data from atomic_jobs.job`

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

  test('is refused when no secret is set', async () => {
    const response = await send(eventBody(), bareUrl)

    expect(response).toMatchObject({ status: 404, json: { type: '/problems/route-not-found' } })
    expect(await storedEvents()).toEqual([])
  })

  test('is neither stored nor acknowledged while the queue is missing', async () => {
    const { sql } = api.store
    await sql`update atomic_jobs.queue set name = 'elsewhere' where name = ${PROVIDER_EVENTS_QUEUE}`
    const response = await send(eventBody())
    await sql`update atomic_jobs.queue set name = ${PROVIDER_EVENTS_QUEUE} where name = 'elsewhere'`

    expect(response.status).toBe(500)
    expect(await storedEvents()).toEqual([])
  })
})
