// Makes one attempt to deliver an event to an endpoint, and records the result. Delivery is at
// least once: if the worker crashes before it records the attempt, the attempt is repeated. Each write is
// guarded by the number of the attempt, so that no attempt counts twice.
import { randomUUIDv7 } from 'node:crypto'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Fragment, Sql, Store, Transaction } from '../db/connection/client.ts'
import { rowsOf } from '../db/connection/rows.ts'
import { asTenant, inTenant } from '../db/connection/transaction.ts'
import { eventFromRow, type EventRow } from '../db/events/events.ts'
import { addJobs, WEBHOOKS_QUEUE, type WebhookJob } from '../db/queue/jobs.ts'
import { findDelivery } from '../db/webhooks/webhook-deliveries.ts'
import { presentEvent, showEventId, type Event } from '../domain/events/event.ts'
import {
  judgeReply,
  readRetryAfter,
  retryDelaySeconds,
  type Reply,
} from '../domain/webhooks/webhook-delivery.ts'
import {
  FIRST_PAUSE_SECONDS,
  type CircuitState,
  type EndpointStatus,
} from '../domain/webhooks/webhook-endpoint.ts'
import { endpointSecret } from '../encryption/encryption.ts'
import { claimTestIfHalfOpen, judgeEndpoint, type JudgedAttempt } from './endpoint-health.ts'
import type { SendWebhook, SentReply } from './send-webhook.ts'
import { Webhook } from 'standardwebhooks'

/** The parts of the service that deliveries need. */
export interface WebhookParts {
  readonly store: Store
  readonly send: SendWebhook
  readonly settings: Pick<
    Config,
    'WEBHOOK_DISABLE_AFTER_SECONDS' | 'WEBHOOK_TIMEOUT_MS' | 'STORE_TIMEOUT_MS'
  >
  readonly clock: { now(): Date; monotonicMs(): number }
  /** A number from 0 up to 1, for jitter. */
  readonly random: () => number
  readonly log: Logger
}

/**
 * The result of an attempt. `retrying`: it failed, and the next one is scheduled. `gave_up`: it
 * failed and was the last one of the schedule. `refused`: the endpoint is disabled or gone.
 * `postponed`: the circuit of the endpoint is open. `nothing_to_do`: the attempt was already made.
 * `absent`: there is no such delivery, or its node has not committed it yet.
 */
export type DeliveryResult =
  | 'succeeded'
  | 'retrying'
  | 'gave_up'
  | 'refused'
  | 'postponed'
  | 'nothing_to_do'
  | 'absent'

/** Makes the attempt that a job names. */
export async function deliverWebhook(
  parts: WebhookParts,
  job: WebhookJob,
): Promise<DeliveryResult> {
  const { sql } = parts.store
  const due = await findDueDelivery(sql, job)
  if (due === undefined) {
    return (await findDelivery(sql, job.tenantId, job.deliveryId)) ? 'nothing_to_do' : 'absent'
  }
  if (due.endpointStatus !== 'enabled') {
    await failIfDue(sql, job)
    return 'refused'
  }
  if (!(await admits(parts, job, due))) {
    // The attempt that tests the endpoint goes ahead, and the others do not arrive all at once.
    await postponeIfDue(sql, job, parts.random() * FIRST_PAUSE_SECONDS)
    return 'postponed'
  }
  const attempt = await makeAttempt(parts, due)
  const recorded = await recordAttemptIfDue(sql, job, attempt)
  logAttempt(parts, job, attempt)
  return recorded ? resultOf(attempt) : 'nothing_to_do'
}

/** Whether the circuit of the endpoint lets this attempt through. */
async function admits(
  { store, settings }: WebhookParts,
  job: WebhookJob,
  { circuit, endpointId }: DueDelivery,
): Promise<boolean> {
  if (circuit !== 'half_open') return circuit === 'closed'
  const longestAttemptMs = settings.WEBHOOK_TIMEOUT_MS + 2 * settings.STORE_TIMEOUT_MS
  return await claimTestIfHalfOpen(store.sql, job.tenantId, endpointId, longestAttemptMs / 1_000)
}

/** A delivery whose next attempt is due. */
interface DueDelivery {
  readonly event: Event
  readonly endpointId: string
  readonly url: string
  readonly endpointStatus: EndpointStatus
  readonly circuit: CircuitState
  /** The failures of the endpoint when the attempt begins. */
  readonly consecutiveFailures: number
  /**
   * The signing secrets, newest first: the current one, and those that were replaced some hours ago.
   */
  readonly secrets: readonly string[]
  readonly scheduleStep: number
}

/** Undefined when the attempt was already made, or the delivery has ended. */
export async function findDueDelivery(sql: Sql, job: WebhookJob): Promise<DueDelivery | undefined> {
  const { tenantId } = job
  type Row = Omit<DueDelivery, 'event'> & { readonly event: EventRow }
  const [row] = await asTenant(sql, tenantId)<Row[]>`
    select
      to_jsonb(events) as event, endpoint.id as "endpointId", endpoint.url,
      endpoint.status as "endpointStatus", endpoint.consecutive_failures as "consecutiveFailures",
      delivery.schedule_step as "scheduleStep",
      case when endpoint.paused_until is null then 'closed'
        when endpoint.paused_until > now() then 'open' else 'half_open' end as circuit,
      array_remove(
        array[
          endpoint.secret,
          case when endpoint.previous_secret_expires_at > now() then endpoint.previous_secret end,
          case when endpoint.second_previous_secret_expires_at > now()
            then endpoint.second_previous_secret end,
          case when endpoint.third_previous_secret_expires_at > now()
            then endpoint.third_previous_secret end
        ],
        null
      ) as secrets
    from webhook_deliveries as delivery
    join webhook_endpoints as endpoint
      on endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
    join events on events.tenant_id = delivery.tenant_id and events.id = delivery.event_id
    where ${isDue(sql, job)}
  `
  if (row === undefined) return undefined
  const endpoint = { tenantId, id: row.endpointId }
  const secrets = row.secrets.map((secret) => endpointSecret.decrypt(endpoint, secret))
  return { ...row, event: eventFromRow(row.event), secrets }
}

/** Guards every write: the delivery is pending, and this attempt is its next one. */
const isDue = (
  sql: Sql | Transaction,
  { tenantId, deliveryId, attempt }: WebhookJob,
): Fragment => sql`
  delivery.tenant_id = ${tenantId} and delivery.id = ${deliveryId}
  and delivery.attempts = ${attempt - 1} and delivery.status = 'pending'
`

/** The result of an attempt, and the delay of the next one; null when there is none. */
interface NewAttempt extends JudgedAttempt, Pick<SentReply, 'because'> {
  readonly id: string
  readonly startedAt: Date
  readonly latencyMs: number
  readonly reply: Reply
  readonly retryInSeconds: number | null
}

async function makeAttempt(parts: WebhookParts, due: DueDelivery): Promise<NewAttempt> {
  const { clock, send, settings } = parts
  const startedAt = clock.now()
  const startedMs = clock.monotonicMs()
  const { retryAfter, because, ...reply } = await send(requestOf(due, startedAt))
  // How long a lookup takes would tell an internal name from one that does not exist.
  const latencyMs = because === undefined ? Math.round(clock.monotonicMs() - startedMs) : 0
  const verdict = judgeReply(reply)
  const askedSeconds = retryAfter && readRetryAfter(retryAfter, clock.now())
  const retryInSeconds =
    verdict === 'failed'
      ? retryDelaySeconds(due.scheduleStep, parts.random(), askedSeconds || 0)
      : undefined
  return {
    id: randomUUIDv7(),
    startedAt,
    latencyMs,
    reply,
    verdict,
    retryInSeconds: retryInSeconds ?? null,
    failuresBefore: due.consecutiveFailures,
    disableAfterSeconds: settings.WEBHOOK_DISABLE_AFTER_SECONDS,
    ...(because && { because }),
  }
}

/**
 * Sends the event as GET /v1/events/:id shows it. Its id is the message id, so receivers can
 * deduplicate.
 */
function requestOf({ event, url, secrets }: DueDelivery, sentAt: Date) {
  const body = JSON.stringify(presentEvent(event))
  const signature = signatureHeaders({ id: showEventId(event.id), sentAt, body }, secrets)
  const headers = { 'content-type': 'application/json', 'user-agent': 'atomic-payments' }
  return { url, body, headers: { ...headers, ...signature } }
}

function resultOf({ verdict, retryInSeconds }: NewAttempt): DeliveryResult {
  if (verdict === 'succeeded') return 'succeeded'
  if (verdict === 'gone') return 'refused'
  return retryInSeconds === null ? 'gave_up' : 'retrying'
}

/** Lists each logged field, so that no URL, header or response body is logged. */
function logAttempt({ log }: WebhookParts, job: WebhookJob, attempt: NewAttempt): void {
  const { deliveryId, attempt: number } = job
  const { because, verdict, latencyMs, reply, retryInSeconds } = attempt
  const fields = { delivery: deliveryId, attempt: number, ...reply, because, latencyMs }
  log.info({ ...fields, retryInSeconds }, verdict)
}

/**
 * Records an attempt, updates its delivery and its endpoint, and plans the next attempt with its job.
 * Returns false and writes nothing when another worker has recorded this attempt.
 */
export async function recordAttemptIfDue(
  sql: Sql,
  job: WebhookJob,
  attempt: NewAttempt,
): Promise<boolean> {
  const { tenantId, deliveryId } = job
  const { reply, retryInSeconds } = attempt
  const end = attempt.verdict === 'succeeded' ? 'succeeded' : 'failed'
  return await inTenant(sql, tenantId, async (tx) => {
    const [delivery] = await tx<{ endpointId: string; nextAttemptAt: string | null }[]>`
      update webhook_deliveries as delivery set
        status = ${retryInSeconds === null ? end : 'pending'},
        attempts = attempts + 1,
        schedule_step = schedule_step + 1,
        next_attempt_at = now() + ${retryInSeconds}::float8 * interval '1 second'
      where ${isDue(tx, job)}
      returning endpoint_id as "endpointId", next_attempt_at as "nextAttemptAt"
    `
    if (delivery === undefined) return false
    const { endpointId, nextAttemptAt } = delivery
    const { id, startedAt, latencyMs } = attempt
    const httpStatus = 'httpStatus' in reply ? reply.httpStatus : null
    const error = 'error' in reply ? reply.error : null
    const answer = { startedAt, latencyMs, httpStatus, error }
    const row = { tenantId, id, deliveryId, number: job.attempt, ...answer }
    await tx`insert into webhook_attempts ${rowsOf(tx, [row])}`
    await judgeEndpoint(tx, { tenantId, id: endpointId }, attempt)
    const next = { ...job, endpointId, attempt: job.attempt + 1 }
    if (nextAttemptAt !== null) await addAttempt(tx, next, nextAttemptAt)
    return true
  })
}

async function addAttempt(tx: Transaction, job: WebhookJob, startAfter: string): Promise<void> {
  const { tenantId, endpointId, deliveryId, attempt } = job
  const data = { tenantId, endpointId, deliveryId, attempt }
  await addJobs(tx, WEBHOOKS_QUEUE, [{ data, startAfter }])
}

/**
 * Makes a delivery wait until the pause of its endpoint is over, and some seconds more, with a job
 * for the same attempt. A second job for this attempt finds that it is not due, and adds no third.
 */
export async function postponeIfDue(sql: Sql, job: WebhookJob, seconds: number): Promise<void> {
  const { tenantId } = job
  await inTenant(sql, tenantId, async (tx) => {
    // Citus refuses a change that computes a time from a column.
    const [next] = await tx<{ endpointId: string; at: string }[]>`
      select
        endpoint.id as "endpointId",
        greatest(endpoint.paused_until, now()) + ${seconds}::float8 * interval '1 second' as at
      from webhook_deliveries as delivery
      join webhook_endpoints as endpoint
        on endpoint.tenant_id = delivery.tenant_id and endpoint.id = delivery.endpoint_id
      where ${isDue(tx, job)} and delivery.next_attempt_at <= now()
    `
    if (next === undefined) return
    const { count } = await tx`
      update webhook_deliveries as delivery set next_attempt_at = ${next.at}
      where ${isDue(tx, job)} and delivery.next_attempt_at <= now()
    `
    if (count === 1) await addAttempt(tx, { ...job, endpointId: next.endpointId }, next.at)
  })
}

/** Fails a delivery whose endpoint is disabled or deleted, without an attempt. */
export async function failIfDue(sql: Sql, job: WebhookJob): Promise<void> {
  await asTenant(sql, job.tenantId)`
    update webhook_deliveries as delivery set status = 'failed', next_attempt_at = null
    where ${isDue(sql, job)}
  `
}

// Signs webhook messages as specified by Standard Webhooks.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

/** The signed message. The id is the same for all attempts; the time is the time of the attempt. */
interface WebhookMessage {
  readonly id: string
  readonly sentAt: Date
  readonly body: string
}

/** The headers that prove the origin of a message, with one signature per secret. */
export function signatureHeaders(
  { id, sentAt, body }: WebhookMessage,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, sentAt, body))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  }
}
