// A store, a receiver and the parts of a worker for the tests of webhook jobs. Import it to use it:
// each test has a tenant and a receiver of its own. A test fetches the jobs from the queue itself
// and runs them one by one, without waiting for their start time.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { afterEach, beforeEach } from '@jest/globals'
import pino from 'pino'
import { Webhook } from 'standardwebhooks'
import { WEBHOOKS_QUEUE, type WebhookJob } from '../../../src/db/queue/jobs.ts'
import { listDeliveries } from '../../../src/db/webhooks/webhook-deliveries.ts'
import { insertEndpoint, type NewEndpoint } from '../../../src/db/webhooks/webhook-endpoints.ts'
import type { WebhookDelivery } from '../../../src/domain/webhooks/webhook-delivery.ts'
import type { WebhookParts } from '../../../src/webhooks/deliver-webhook.ts'
import { createSender } from '../../../src/webhooks/send-webhook.ts'
import { workOnWebhook } from '../../../workers/webhook-worker.ts'
import { makeTenant, reservationOf, reserve } from '../../db/reservations.ts'
import { noNames } from '../../support/name-server.ts'
import { store } from '../../support/own-store.ts'
import { startReceiver, type Received, type Receiver } from '../../support/receiver.ts'

export { store }

const DAY_SECONDS = 86_400

export let receiver: Receiver
export let webhooks: WebhookParts
export let tenantId: string
/** The time of the workers' clock. */
export let now: Date

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
  await store.sql`delete from atomic_jobs.job`
})

export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** Sets the workers' clock forward. */
export function letTimePass(ms: number): void {
  now = new Date(now.getTime() + ms)
}

/** Creates an endpoint of the tenant at the receiver, and returns it with its secret. */
export async function makeEndpoint(fields: Partial<NewEndpoint> = {}): Promise<NewEndpoint> {
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
export async function makePayment(): Promise<string> {
  const reservation = reservationOf(tenantId)
  await reserve(store.sql, reservation)
  return reservation.paymentId
}

export async function deliveries(): Promise<readonly WebhookDelivery[]> {
  const page = await listDeliveries(store.sql, tenantId, {}, { limit: 100 })
  return page?.items ?? []
}

export async function onlyDelivery(): Promise<WebhookDelivery> {
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
export function queuedJobs(): Promise<QueuedJob[]> {
  return store.sql<QueuedJob[]>`
    select data, extract(epoch from start_after - now())::float8 as "startsIn" from atomic_jobs.job
    where name = ${WEBHOOKS_QUEUE} and data ->> 'tenantId' = ${tenantId} order by start_after
  `
}

/** Fetches the next job and runs it at once, regardless of its start time. */
export async function runNextJob(parts = webhooks) {
  const [row] = await store.sql<{ id: string; data: WebhookJob }[]>`
    delete from atomic_jobs.job where id = (
      select id from atomic_jobs.job
      where name = ${WEBHOOKS_QUEUE} and data ->> 'tenantId' = ${tenantId}
      order by start_after limit 1
    )
    returning id, data
  `
  if (row === undefined) throw new Error('no job waits')
  return await work(row, parts)
}

/** The jobs run without waiting: the pause of an endpoint would be over when they are due. */
export const endPauses = () =>
  store.sql`update webhook_endpoints set paused_until = null where tenant_id = ${tenantId}`

export function work(job: { id: string; data: unknown; retryCount?: number }, parts = webhooks) {
  return workOnWebhook(parts, { retryCount: 0, ...job })
}

/** Verifies a request with `standardwebhooks`, which throws when the signature is wrong. */
export function verify(secret: string, { body, headers }: Received): Record<string, unknown> {
  return new Webhook(secret).verify(body, headers) as Record<string, unknown>
}
