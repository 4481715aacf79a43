// Tests the delivery of events to their endpoints: written with the event, attempted on schedule,
// and recorded. Each test fetches the jobs from the queue itself and runs them one by one, without
// waiting for their start time.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { Webhook } from 'standardwebhooks'
import type { Store } from '../../src/db/connection/client.ts'
import { findPayment } from '../../src/db/payments/payments.ts'
import { changePayment } from '../../src/db/payments/payment-changes.ts'
import { WEBHOOKS_QUEUE, type WebhookJob } from '../../src/db/queue/queues.ts'
import { findEvent, listEvents } from '../../src/db/events/events.ts'
import { ENDPOINT_DISABLED } from '../../src/domain/events/event-types.ts'
import { showEndpointId } from '../../src/domain/webhooks/webhook-endpoint.ts'
import {
  findDelivery,
  listDeliveries,
  redeliverIfEnabled,
  replayFailedDeliveries,
} from '../../src/db/webhooks/webhook-deliveries.ts'
import {
  deleteEndpoint,
  findEndpoint,
  insertEndpoint,
  insertTestEvent,
  rotateSecret,
  updateEndpoint,
  type NewEndpoint,
} from '../../src/db/webhooks/webhook-endpoints.ts'
import {
  FAILURES_TO_OPEN,
  FIRST_PAUSE_SECONDS,
  LONGEST_PAUSE_SECONDS,
} from '../../src/domain/webhooks/endpoint-circuit.ts'
import { parseEventId, presentEvent } from '../../src/domain/events/event.ts'
import {
  RETRY_DELAYS_SECONDS,
  type WebhookDelivery,
} from '../../src/domain/webhooks/webhook-delivery.ts'
import type { WebhookParts } from '../../src/webhooks/deliver-webhook.ts'
import { createSender } from '../../src/webhooks/send-webhook.ts'
import { workOnWebhook } from '../../workers/webhook-worker.ts'
import { countRows, makeTenant, openTestStore, reservationOf, reserve } from '../db/reservations.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { noNames } from '../support/name-server.ts'
import { startReceiver, status, type Received, type Receiver } from '../support/receiver.ts'

const DAY_SECONDS = 86_400

let database: TestDatabase
let store: Store
let receiver: Receiver
let webhooks: WebhookParts
let tenantId: string
/** The time of the workers' clock. */
let now: Date

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url)
})
beforeEach(async () => {
  receiver = await startReceiver()
  tenantId = await makeTenant(store)
  now = new Date()
  webhooks = {
    store,
    send: createSender({ timeoutMs: 5_000, allowInsecure: true, resolve: noNames }),
    settings: {
      WEBHOOK_DISABLE_AFTER_SECONDS: 5 * DAY_SECONDS,
      WEBHOOK_TIMEOUT_MS: 5_000,
      STORE_TIMEOUT_MS: 2_000,
    },
    clock: { now: () => now, monotonicMs: () => performance.now() },
    random: () => 0.5,
    log: pino({ level: 'silent' }),
  }
})
afterEach(async () => {
  await receiver.stop()
  await store.sql`delete from pgboss.job`
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** Creates an endpoint of the tenant at the receiver, and returns it with its secret. */
async function makeEndpoint(fields: Partial<NewEndpoint> = {}): Promise<NewEndpoint> {
  const endpoint = {
    tenantId,
    id: randomUUIDv7(),
    url: receiver.url,
    description: null,
    eventTypes: ['*'],
    secret: newSecret(),
    ...fields,
  }
  await store.sql.begin((tx) => insertEndpoint(tx, endpoint))
  return endpoint
}

/** Triggers `payment.created`, and returns the id of the payment. */
async function makePayment(): Promise<string> {
  const reservation = reservationOf(tenantId)
  await reserve(store.sql, reservation)
  return reservation.paymentId
}

async function deliveries(): Promise<readonly WebhookDelivery[]> {
  const page = await listDeliveries(store.sql, tenantId, {}, { limit: 100 })
  return page?.items ?? []
}

async function onlyDelivery(): Promise<WebhookDelivery> {
  const [delivery, ...others] = await deliveries()
  if (delivery === undefined || others.length > 0) throw new Error('not one delivery')
  return delivery
}

interface QueuedJob {
  readonly data: WebhookJob
  /** Counted from now, in seconds. */
  readonly startsIn: number
}

/** The pending jobs of the queue, in order of their start time. */
function queuedJobs(): Promise<QueuedJob[]> {
  return store.sql<QueuedJob[]>`
    select data, extract(epoch from start_after - now())::float8 as "startsIn" from pgboss.job
    where name = ${WEBHOOKS_QUEUE} and data ->> 'tenantId' = ${tenantId} order by start_after
  `
}

/** Fetches the next job and runs it at once, regardless of its start time. */
async function runNextJob(parts = webhooks) {
  const [row] = await store.sql<{ id: string; data: WebhookJob }[]>`
    delete from pgboss.job where id = (
      select id from pgboss.job
      where name = ${WEBHOOKS_QUEUE} and data ->> 'tenantId' = ${tenantId}
      order by start_after limit 1
    )
    returning id, data
  `
  if (row === undefined) throw new Error('no job waits')
  return await work(row, parts)
}

/** The jobs run without waiting: the pause of an endpoint would be over when they are due. */
const endPauses = () =>
  store.sql`update webhook_endpoints set paused_until = null where tenant_id = ${tenantId}`

function work(job: { id: string; data: unknown }, parts = webhooks) {
  return workOnWebhook(parts, job)
}

/** Verifies a request with `standardwebhooks`, which throws when the signature is wrong. */
function verify(secret: string, { body, headers }: Received): Record<string, unknown> {
  return new Webhook(secret).verify(body, headers) as Record<string, unknown>
}

describe('the deliveries of an event', () => {
  test('are one per subscribed endpoint, each with a job that starts at once', async () => {
    const [all, some] = [
      await makeEndpoint(),
      await makeEndpoint({ eventTypes: ['payment.created'] }),
    ]
    await makeEndpoint({ eventTypes: ['payment.succeeded'] })
    await makePayment()

    const made = await deliveries()
    expect(made.map(({ endpointId }) => endpointId).toSorted()).toEqual(
      [all.id, some.id].toSorted(),
    )
    expect(made.map(({ status: is }) => is)).toEqual(['pending', 'pending'])
    const jobs = await queuedJobs()
    expect(jobs.map(({ data }) => data.deliveryId).toSorted()).toEqual(
      made.map(({ id }) => id).toSorted(),
    )
    expect(jobs.every(({ data, startsIn }) => data.attempt === 1 && startsIn <= 0)).toBe(true)
  })

  test('have ids in order of time', async () => {
    await makeEndpoint()
    await makePayment()
    await makePayment()

    for (const { id, eventId } of await deliveries()) {
      expect(id.slice(0, 15)).toBe(eventId.slice(0, 15))
      expect(id).not.toBe(eventId)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
  })

  test('do not exist for an endpoint that is deleted, disabled or of another tenant', async () => {
    const { id } = await makeEndpoint()
    await store.sql.begin((tx) => deleteEndpoint(tx, { tenantId, id }))
    const disabled = await makeEndpoint()
    await store.sql`
      update webhook_endpoints set status = 'disabled', disabled_reason = 'gone'
      where id = ${disabled.id}
    `
    await makeEndpoint({ tenantId: await makeTenant(store) })
    await makePayment()

    expect(await deliveries()).toEqual([])
    expect(await queuedJobs()).toEqual([])
  })

  test('do not exist when the event is rolled back', async () => {
    await makeEndpoint({ eventTypes: ['payment.failed'] })
    const payment = await findPayment(store.sql, tenantId, await makePayment())
    if (payment === undefined) throw new Error('no payment')
    const failing = store.sql.begin(async (tx) => {
      await changePayment(tx, payment, { status: 'failed' }, 'key')
      expect(await countRows(tx as unknown as Store['sql'], 'webhook_deliveries', tenantId)).toBe(1)
      throw new Error('rolled back')
    })

    await expect(failing).rejects.toThrow('rolled back')
    expect(await deliveries()).toEqual([])
    expect(await queuedJobs()).toEqual([])
  })

  test('are not created again when a key is reserved twice', async () => {
    await makeEndpoint()
    const reservation = reservationOf(tenantId)
    await reserve(store.sql, reservation)
    await reserve(store.sql, { ...reservation, id: randomUUIDv7() })

    expect(await deliveries()).toHaveLength(1)
  })
})

describe('an attempt that succeeds', () => {
  test('sends the event as the API shows it, signed', async () => {
    const { secret } = await makeEndpoint()
    await makePayment()
    const result = await runNextJob()

    expect(result).toMatchObject({ status: 'completed' })
    const [request] = await receiver.waitFor(1)
    if (request === undefined) throw new Error('nothing was received')
    const shown = verify(secret, request)
    const eventId = parseEventId(String(shown['id'])) ?? ''
    const event = await findEvent(store.sql, tenantId, eventId)
    expect(request.body).toBe(event && JSON.stringify(presentEvent(event)))
    expect(request.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': shown['id'],
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    })
  })

  test('is recorded with its status and its latency, and is the last', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    await runNextJob()

    expect(await onlyDelivery()).toMatchObject({
      endpointId: id,
      eventType: 'payment.created',
      status: 'succeeded',
      nextAttemptAt: null,
      attempts: [{ number: 1, httpStatus: 204, error: null, latencyMs: expect.any(Number) }],
    })
    expect(await queuedJobs()).toEqual([])
  })

  test('resets the failures of its endpoint', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    expect(await failingSince(id)).not.toBeNull()
    receiver.answer = status(200)
    await runNextJob()

    expect(await failingSince(id)).toBeNull()
  })
})

async function failingSince(id: string): Promise<unknown> {
  const [row] = await store.sql`select failing_since from webhook_endpoints where id = ${id}`
  return row?.['failing_since']
}

describe('an attempt that fails', () => {
  test('is repeated with the same id, a new timestamp and a new signature', async () => {
    const { secret } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    now = new Date(now.getTime() + 60_000)
    receiver.answer = status(200)
    await runNextJob()

    const [first, second] = await receiver.waitFor(2)
    if (first === undefined || second === undefined) throw new Error('too little was received')
    expect(verify(secret, second)).toEqual(verify(secret, first))
    expect(second.body).toBe(first.body)
    expect(second.headers['webhook-id']).toBe(first.headers['webhook-id'])
    const seconds = [first, second].map(({ headers }) => Number(headers['webhook-timestamp']))
    expect((seconds[1] ?? 0) - (seconds[0] ?? 0)).toBe(60)
    expect(second.headers['webhook-signature']).not.toBe(first.headers['webhook-signature'])
    expect((await onlyDelivery()).attempts).toMatchObject([
      { number: 1, httpStatus: 500 },
      { number: 2, httpStatus: 200 },
    ])
  })

  test.each([
    ['answers 500', 'httpStatus', 500],
    ['redirects', 'httpStatus', 302],
    ['says nothing in time', 'error', 'timeout'],
    ['hangs up', 'error', 'connection_failed'],
  ] as const)('is recorded as it was when the receiver %s', async (what, member, value) => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = (response, request) => {
      if (what === 'hangs up') response.destroy()
      else if (typeof value === 'number') status(value, { location: '/x' })(response, request)
    }
    await runNextJob({
      ...webhooks,
      send: createSender({ timeoutMs: 200, allowInsecure: true, resolve: noNames }),
    })

    expect(await onlyDelivery()).toMatchObject({
      status: 'pending',
      nextAttemptAt: expect.any(Date),
      attempts: [{ number: 1, [member]: value }],
    })
    expect(receiver.received).toHaveLength(1)
  })

  test('schedules the next one, until the last, which becomes a dead letter', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(503)
    for (const [step, seconds] of RETRY_DELAYS_SECONDS.entries()) {
      await endPauses()
      expect(await runNextJob()).toMatchObject({ status: 'completed' })
      const [job, ...others] = await queuedJobs()
      expect(others).toEqual([])
      expect(job?.data.attempt).toBe(step + 2)
      expect(Math.abs((job?.startsIn ?? 0) - seconds)).toBeLessThan(5)
    }
    await endPauses()
    const last = await runNextJob()

    expect(last).toMatchObject({ status: 'deadletter', output: { reason: 'out of attempts' } })
    const delivery = await onlyDelivery()
    expect(delivery).toMatchObject({ status: 'failed', nextAttemptAt: null })
    expect(delivery.attempts).toHaveLength(RETRY_DELAYS_SECONDS.length + 1)
    expect(await queuedJobs()).toEqual([])
  })
})

describe('while a secret is rotated', () => {
  test('both secrets sign, until the previous one expires', async () => {
    const { id, secret: previous } = await makeEndpoint()
    const current = newSecret()
    await store.sql.begin((tx) => rotateSecret(tx, { tenantId, id }, current))
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await store.sql`
      update webhook_endpoints set previous_secret_expires_at = now() where id = ${id}
    `
    await runNextJob()

    const [during, after] = await receiver.waitFor(2)
    if (during === undefined || after === undefined) throw new Error('too little was received')
    expect(verify(current, during)).toEqual(verify(previous, during))
    expect(verify(current, after)).toEqual(verify(current, during))
    expect(() => verify(previous, after)).toThrow('No matching signature')
  })
})

describe('an endpoint', () => {
  test('that has failed for a long time is disabled by the next failure', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await store.sql`
      update webhook_endpoints set failing_since = now() - interval '5 days' where id = ${id}
    `
    await runNextJob()

    expect(await findEndpoint(store.sql, tenantId, id)).toMatchObject({
      status: 'disabled',
      disabledReason: 'failing',
    })
  })

  test('that has failed for a shorter time stays enabled', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await store.sql`
      update webhook_endpoints set failing_since = now() - interval '4 days 23 hours'
      where id = ${id}
    `
    await runNextJob()

    expect(await findEndpoint(store.sql, tenantId, id)).toMatchObject({ status: 'enabled' })
  })

  test('that answers 410 is disabled at once, and the delivery fails', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    receiver.answer = status(410)

    expect(await runNextJob()).toMatchObject({ status: 'completed' })
    expect(await findEndpoint(store.sql, tenantId, id)).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
    })
    expect(await onlyDelivery()).toMatchObject({
      status: 'failed',
      attempts: [{ httpStatus: 410 }],
    })
    expect(await queuedJobs()).toEqual([])
  })

  test.each([
    ['failing', 500],
    ['gone', 410],
  ] as const)(
    'that is disabled as %s tells the other endpoints of its tenant',
    async (reason, code) => {
      const { id, secret } = await makeEndpoint({ description: 'books' })
      await makePayment()
      const other = await makeEndpoint({ url: `${receiver.url}/other` })
      await makeEndpoint({ eventTypes: ['payment.created'] })
      await makeEndpoint({ tenantId: await makeTenant(store) })
      await store.sql`
      update webhook_endpoints set failing_since = now() - interval '6 days' where id = ${id}
    `
      receiver.answer = status(code)
      await runNextJob()

      const [event, ...others] =
        (await listEvents(store.sql, tenantId, {}, { limit: 10 }))?.items ?? []
      expect(others.map(({ type }) => type)).toEqual(['payment.created'])
      expect(event && presentEvent(event)).toEqual({
        id: expect.stringMatching(/^evt_/),
        object: 'event',
        type: 'webhook_endpoint.disabled',
        data: {
          object: {
            id: showEndpointId(id),
            object: 'webhook_endpoint',
            description: 'books',
            status: 'disabled',
            disabled_reason: reason,
            failing_since: expect.any(String),
          },
        },
        request: { idempotency_key: null },
        created_at: expect.any(String),
      })
      const [row] = await store.sql`select object::text from events where id = ${event?.id ?? ''}`
      expect(String(row?.['object'])).not.toContain(receiver.url)
      expect(String(row?.['object'])).not.toContain(secret)
      const told = (await deliveries()).filter(({ eventId }) => eventId === event?.id)
      expect(told.map(({ endpointId }) => endpointId)).toEqual([other.id])

      receiver.answer = status(204)
      const [retryOrNews, ...more] = (await queuedJobs()).filter(
        ({ data }) => data.deliveryId === told[0]?.id,
      )
      expect(more).toEqual([])
      await work({ id: 'job', data: retryOrNews?.data })
      const request = receiver.received.at(-1)
      expect(request?.path).toBe('/webhooks/other')
      expect(request && verify(other.secret, request)).toEqual(event && presentEvent(event))
    },
  )

  test('that two attempts disable together tells so once', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    await makePayment()
    await store.sql`
      update webhook_endpoints set failing_since = now() - interval '6 days' where id = ${id}
    `
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(500).end())
    const both = [runNextJob(), runNextJob()]
    await receiver.waitFor(2)
    held.forEach((release) => release())
    await Promise.all(both)

    const found = await listEvents(store.sql, tenantId, { type: ENDPOINT_DISABLED }, { limit: 10 })
    expect(found?.items).toHaveLength(1)
  })

  test('that was deleted receives no pending deliveries', async () => {
    const { id } = await makeEndpoint()
    await makePayment()
    await store.sql.begin((tx) => deleteEndpoint(tx, { tenantId, id }))

    expect(await runNextJob()).toMatchObject({ status: 'completed' })
    expect(await onlyDelivery()).toMatchObject({ status: 'failed', attempts: [] })
    expect(receiver.received).toEqual([])
  })

  test('whose URL is no longer allowed receives nothing', async () => {
    await makeEndpoint({ url: 'http://10.0.0.1/' })
    await makePayment()
    await runNextJob()

    expect(await onlyDelivery()).toMatchObject({
      status: 'pending',
      attempts: [{ error: 'url_refused', httpStatus: null }],
    })
  })
})

describe('a redelivery', () => {
  const redeliver = ({ id }: WebhookDelivery) =>
    store.sql.begin((tx) => redeliverIfEnabled(tx, { tenantId, id }))

  test('is sent at once, with the same message id and a new schedule', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    for (let attempt = 0; attempt <= RETRY_DELAYS_SECONDS.length; attempt += 1) {
      await endPauses()
      await runNextJob()
    }

    expect(await redeliver(await onlyDelivery())).toBe(true)
    expect(await onlyDelivery()).toMatchObject({ status: 'pending' })
    const [job] = await queuedJobs()
    expect(job?.startsIn).toBeLessThanOrEqual(0)
    await runNextJob()

    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(RETRY_DELAYS_SECONDS.length + 2)
    expect(new Set(ids).size).toBe(1)
    const [retry] = await queuedJobs()
    expect(Math.abs((retry?.startsIn ?? 0) - RETRY_DELAYS_SECONDS[0])).toBeLessThan(5)
  })

  test('of a delivery that waits for its next attempt makes that attempt at once, and only once', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(500)
    await runNextJob()
    await redeliver(await onlyDelivery())
    receiver.answer = status(200)

    expect(await queuedJobs()).toHaveLength(2)
    await runNextJob()
    expect(await runNextJob()).toMatchObject({ status: 'completed' })
    expect(receiver.received).toHaveLength(2)
    expect(await onlyDelivery()).toMatchObject({ status: 'succeeded' })
  })

  test('is refused when its endpoint is disabled', async () => {
    await makeEndpoint()
    await makePayment()
    receiver.answer = status(410)
    await runNextJob()

    expect(await redeliver(await onlyDelivery())).toBe(false)
    expect(await onlyDelivery()).toMatchObject({ status: 'failed' })
    expect(await queuedJobs()).toEqual([])
  })
})

describe('a worker that crashes', () => {
  test('before it recorded its attempt leaves the attempt to be repeated', async () => {
    await makeEndpoint()
    await makePayment()
    const [job] = await queuedJobs()
    const died = await work(
      { id: 'job', data: job?.data },
      {
        ...webhooks,
        send: async (request) => {
          await webhooks.send(request)
          throw new Error('died')
        },
      },
    )
    expect(died).toMatchObject({ status: 'failed' })
    expect((await onlyDelivery()).attempts).toEqual([])
    expect(await work({ id: 'job', data: job?.data })).toMatchObject({ status: 'completed' })

    const [first, second] = await receiver.waitFor(2)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(await onlyDelivery()).toMatchObject({
      status: 'succeeded',
      attempts: [{ number: 1, httpStatus: 204 }],
    })
  })

  test('after it recorded its attempt leaves nothing to do', async () => {
    await makeEndpoint()
    await makePayment()
    const [job] = await queuedJobs()
    await work({ id: 'job', data: job?.data })

    expect(await work({ id: 'job', data: job?.data })).toMatchObject({ status: 'completed' })
    expect(receiver.received).toHaveLength(1)
  })

  test('only apparently does not count its attempt twice', async () => {
    await makeEndpoint()
    await makePayment()
    const [job] = await queuedJobs()
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(500).end())
    const both = [work({ id: 'a', data: job?.data }), work({ id: 'b', data: job?.data })]
    await receiver.waitFor(2)
    held.forEach((release) => release())

    expect(await Promise.all(both)).toMatchObject([
      { status: 'completed' },
      { status: 'completed' },
    ])
    const delivery = await findDelivery(store.sql, tenantId, (await onlyDelivery()).id)
    expect(delivery?.attempts).toMatchObject([{ number: 1, httpStatus: 500 }])
    await store.sql`delete from pgboss.job where (data ->> 'attempt')::int = 1`
    expect(await queuedJobs()).toHaveLength(1)
  })
})

test('a job without an attempt becomes a dead letter', async () => {
  expect(await work({ id: 'job', data: { tenantId } })).toMatchObject({ status: 'deadletter' })
})

test('no log contains a secret, a URL or a body', async () => {
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line) => void lines.push(line) })
  const { secret } = await makeEndpoint()
  await makePayment()
  receiver.answer = status(500)
  await runNextJob({ ...webhooks, log })

  expect(lines).toHaveLength(1)
  expect(lines.join()).not.toContain(secret.slice('whsec_'.length))
  expect(lines.join()).not.toContain(receiver.url)
  expect(lines.join()).not.toContain('payment')
})

describe('the circuit of an endpoint', () => {
  /** Fails the first attempts of so many deliveries, and leaves no job of them. */
  async function failAttempts(times: number): Promise<void> {
    for (let attempt = 0; attempt < times; attempt += 1) {
      await makePayment()
      await runNewestJob()
    }
    await store.sql`delete from pgboss.job`
  }

  /** The job of the newest first attempt: the retries of others wait in the queue, too. */
  async function runNewestJob(parts = webhooks) {
    const [job] = (await queuedJobs()).filter(({ data }) => data.attempt === 1)
    if (job === undefined) throw new Error('no first attempt waits')
    await store.sql`delete from pgboss.job where data ->> 'deliveryId' = ${job.data.deliveryId}`
    return await work({ id: randomUUIDv7(), data: job.data }, parts)
  }

  const readEndpoint = async (id: string) => {
    const [row] = await store.sql<{ failures: number; pause: number | null; status: string }[]>`
      select consecutive_failures as failures, status,
        extract(epoch from paused_until - now())::float8 as pause
      from webhook_endpoints where id = ${id}
    `
    if (row === undefined) throw new Error('no endpoint')
    return row
  }
  const endPauseOf = (id: string) =>
    store.sql`update webhook_endpoints set paused_until = now() where id = ${id}`

  test('opens after five failures of different deliveries, and not before', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN - 1)
    expect(await readEndpoint(id)).toMatchObject({ failures: FAILURES_TO_OPEN - 1, pause: null })

    await failAttempts(1)
    const { pause } = await readEndpoint(id)
    expect(Math.abs((pause ?? 0) - FIRST_PAUSE_SECONDS)).toBeLessThan(5)
    expect((await findEndpoint(store.sql, tenantId, id))?.pausedUntil).toBeInstanceOf(Date)
  })

  test('opens when the endpoint hangs', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = () => {}
    webhooks = {
      ...webhooks,
      send: createSender({ timeoutMs: 50, allowInsecure: true, resolve: noNames }),
    }
    await failAttempts(FAILURES_TO_OPEN)

    expect((await readEndpoint(id)).pause).toBeGreaterThan(0)
  })

  test('makes deliveries wait while it is open, without using up their tries', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    await makePayment()
    const [job] = await queuedJobs()
    const result = await runNewestJob()

    expect(result).toMatchObject({ status: 'completed' })
    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN)
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ status: 'pending', attempts: [] })
    const [later, ...others] = await queuedJobs()
    expect(others).toEqual([])
    expect(later?.data).toEqual(job?.data)
    const { pause } = await readEndpoint(id)
    // Half of the spread of thirty seconds, because the random number is a half.
    expect(Math.abs((later?.startsIn ?? 0) - (pause ?? 0) - 15)).toBeLessThan(1)
    const waitsMs = (delivery?.nextAttemptAt?.getTime() ?? 0) - Date.now()
    expect(Math.abs(waitsMs / 1_000 - (later?.startsIn ?? 0))).toBeLessThan(5)
  })

  test('does not multiply the jobs of a delivery that waits', async () => {
    await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    await makePayment()
    const [job] = await queuedJobs()
    await store.sql`delete from pgboss.job`
    await work({ id: 'a', data: job?.data })
    await work({ id: 'b', data: job?.data })

    expect(await queuedJobs()).toHaveLength(1)
  })

  test('lets one attempt through after the pause, and closes when it succeeds', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    await endPauseOf(id)
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(204).end())
    await makePayment()
    const testing = runNewestJob()
    await receiver.waitFor(FAILURES_TO_OPEN + 1)
    await makePayment()
    await runNewestJob()

    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
    held.forEach((release) => release())
    await testing
    expect(await readEndpoint(id)).toMatchObject({ failures: 0, pause: null })
    receiver.answer = status(204)
    await runNextJob()
    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 2)
  })

  test('doubles the pause when that attempt fails, up to an hour', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    const pauses: number[] = []
    for (let failed = 1; failed <= 9; failed += 1) {
      await endPauseOf(id)
      await failAttempts(1)
      pauses.push((await readEndpoint(id)).pause ?? 0)
    }

    const expected = [60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]
    for (const [index, seconds] of expected.entries()) {
      expect(Math.abs((pauses[index] ?? 0) - seconds)).toBeLessThan(5)
    }
    await store.sql`
      update webhook_endpoints set consecutive_failures = 2000000, paused_until = now()
      where id = ${id}
    `
    await failAttempts(1)
    expect(Math.abs(((await readEndpoint(id)).pause ?? 0) - LONGEST_PAUSE_SECONDS)).toBeLessThan(5)
  })

  test('counts attempts that began together only until it opens', async () => {
    const { id } = await makeEndpoint()
    const held: (() => void)[] = []
    receiver.answer = (response) => void held.push(() => response.writeHead(500).end())
    const running = []
    for (let attempt = 0; attempt < FAILURES_TO_OPEN + 4; attempt += 1) {
      await makePayment()
      running.push(runNewestJob())
      await receiver.waitFor(attempt + 1)
    }
    held.forEach((release) => release())
    await Promise.all(running)

    const { failures, pause } = await readEndpoint(id)
    expect(failures).toBe(FAILURES_TO_OPEN)
    expect(pause).toBeLessThan(FIRST_PAUSE_SECONDS + 1)
  })

  test('lets another attempt through when the worker of the first died', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    await endPauseOf(id)
    await makePayment()
    const send = () => Promise.reject(new Error('died'))
    expect(await runNewestJob({ ...webhooks, send })).toMatchObject({ status: 'failed' })

    const longestSeconds = 5 + 2 * 2
    expect(Math.abs(((await readEndpoint(id)).pause ?? 0) - longestSeconds)).toBeLessThan(2)
    await endPauseOf(id)
    await makePayment()
    await runNewestJob()
    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
  })

  test('does not concern another endpoint of the tenant', async () => {
    await makeEndpoint({ eventTypes: ['payment.created'] })
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    const other = await makeEndpoint({ url: `${receiver.url}/other` })
    await makePayment()
    await runNextJob()
    await runNextJob()

    expect(receiver.received.slice(FAILURES_TO_OPEN).map(({ path }) => path)).toEqual([
      '/webhooks/other',
    ])
    expect(await readEndpoint(other.id)).toMatchObject({ failures: 1 })
  })

  test('lets the attempt of a redelivery through at once', async () => {
    await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    receiver.answer = status(204)
    const [delivery] = await deliveries()
    const ref = { tenantId, id: delivery?.id ?? '' }
    await store.sql.begin((tx) => redeliverIfEnabled(tx, ref))
    await runNextJob()

    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
  })

  test('lets a test event through at once', async () => {
    const endpoint = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    receiver.answer = status(204)
    await store.sql.begin((tx) => insertTestEvent(tx, endpoint))
    await runNextJob()

    expect(receiver.received).toHaveLength(FAILURES_TO_OPEN + 1)
    expect(await readEndpoint(endpoint.id)).toMatchObject({ failures: 0, pause: null })
  })

  test('is closed by another URL', async () => {
    const { id } = await makeEndpoint()
    receiver.answer = status(500)
    await failAttempts(FAILURES_TO_OPEN)
    const url = `${receiver.url}/new`
    await store.sql.begin((tx) => updateEndpoint(tx, { tenantId, id }, { url }))

    expect(await readEndpoint(id)).toMatchObject({ failures: 0, pause: null })
  })
})

describe('a replay', () => {
  const replay = (endpoint: NewEndpoint, limit: number) =>
    store.sql.begin((tx) =>
      replayFailedDeliveries(tx, endpoint, new Date(Date.now() - 60_000), limit),
    )
  async function failDeliveries(times: number): Promise<NewEndpoint> {
    const endpoint = await makeEndpoint()
    for (let delivery = 0; delivery < times; delivery += 1) await makePayment()
    await store.sql`
      update webhook_deliveries set status = 'failed', next_attempt_at = null
      where tenant_id = ${tenantId}
    `
    await store.sql`delete from pgboss.job`
    return endpoint
  }

  test('starts the oldest deliveries, up to the limit, each with one job', async () => {
    const endpoint = await failDeliveries(5)

    expect(await replay(endpoint, 3)).toBe(3)
    const oldestFirst = (await deliveries()).toReversed()
    const [started, left] = [oldestFirst.slice(0, 3), oldestFirst.slice(3)]
    expect(started.map(({ status: is }) => is)).toEqual(['pending', 'pending', 'pending'])
    expect(left.map(({ status: is }) => is)).toEqual(['failed', 'failed'])
    const jobs = await queuedJobs()
    expect(jobs.map(({ data }) => data.deliveryId).toSorted()).toEqual(
      started.map(({ id }) => id).toSorted(),
    )
    expect(await replay(endpoint, 3)).toBe(2)
    expect(await replay(endpoint, 3)).toBe(0)
  })

  test('of two requests at once starts each delivery once', async () => {
    const endpoint = await failDeliveries(4)
    const counts = await Promise.all([replay(endpoint, 10), replay(endpoint, 10)])

    expect(counts.toSorted()).toEqual([0, 4])
    expect(await queuedJobs()).toHaveLength(4)
  })

  test('leaves another endpoint and another tenant alone', async () => {
    await failDeliveries(1)
    const other = await makeEndpoint()

    expect(await replay(other, 10)).toBe(0)
    expect(await replay({ ...other, tenantId: await makeTenant(store) }, 10)).toBe(0)
    expect(await queuedJobs()).toEqual([])
  })
})
