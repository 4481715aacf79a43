// Makes one attempt to deliver an event to an endpoint, and records the result. Delivery is at
// least once: if the worker crashes before it records the attempt, the attempt is repeated.
import { randomUUIDv7 } from 'node:crypto'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Store } from '../db/connection/client.ts'
import type { WebhookJob } from '../db/queue/jobs.ts'
import { claimTestIfHalfOpen } from '../db/webhooks/webhook-endpoints.ts'
import {
  failIfDue,
  findDueDelivery,
  postponeIfDue,
  recordAttemptIfDue,
  type DueDelivery,
  type NewAttempt,
} from '../db/webhooks/webhook-attempts.ts'
import { findDelivery } from '../db/webhooks/webhook-deliveries.ts'
import { FIRST_PAUSE_SECONDS } from '../domain/webhooks/webhook-endpoint.ts'
import { presentEvent, showEventId } from '../domain/events/event.ts'
import {
  judgeReply,
  readRetryAfter,
  retryDelaySeconds,
} from '../domain/webhooks/webhook-delivery.ts'
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
  return await claimTestIfHalfOpen(store.sql, job, endpointId, longestAttemptMs / 1_000)
}

async function makeAttempt(
  parts: WebhookParts,
  due: DueDelivery,
): Promise<NewAttempt & Pick<SentReply, 'because'>> {
  const { clock, send, settings } = parts
  const startedAt = clock.now()
  const startedMs = clock.monotonicMs()
  const { retryAfter, because, ...reply } = await send(requestOf(due, startedAt))
  // How long a look-up takes would tell an internal name from one that does not exist.
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
function logAttempt(
  { log }: WebhookParts,
  job: WebhookJob,
  attempt: NewAttempt & Pick<SentReply, 'because'>,
): void {
  const { deliveryId, attempt: number } = job
  const { because, verdict, latencyMs, reply, retryInSeconds } = attempt
  const fields = { delivery: deliveryId, attempt: number, ...reply, because, latencyMs }
  log.info({ ...fields, retryInSeconds }, verdict)
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
