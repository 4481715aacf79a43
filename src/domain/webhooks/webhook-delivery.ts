// A webhook delivery, one event on its way to one endpoint: when it is tried again, what its attempts
// came to, and how the API shows it.
import { showEventId } from '../events/event.ts'
import { parseId, showId } from '../resource-id.ts'
import { showEndpointId } from './webhook-endpoint.ts'

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** Why an attempt came to no answer. */
export const attemptErrors = [
  'url_refused',
  'body_too_large',
  'name_not_resolved',
  'address_refused',
  'connection_failed',
  'timeout',
] as const
export type AttemptError = (typeof attemptErrors)[number]

/** What an attempt came to: the status of the answer, or why there was none. */
export type Reply = { readonly httpStatus: number } | { readonly error: AttemptError }

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 60 * MINUTE_SECONDS

/**
 * The pause after each attempt that failed, in seconds; after the last one there is no further attempt.
 * The schedule that Standard Webhooks recommends: about three days, the first tries close together.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability
 */
export const RETRY_DELAYS_SECONDS = [
  5,
  5 * MINUTE_SECONDS,
  30 * MINUTE_SECONDS,
  2 * HOUR_SECONDS,
  5 * HOUR_SECONDS,
  10 * HOUR_SECONDS,
  14 * HOUR_SECONDS,
  20 * HOUR_SECONDS,
  24 * HOUR_SECONDS,
] as const

/** How far a pause varies, so that what failed together does not come back together. */
const JITTER = 0.1

/**
 * The seconds until the next attempt, or undefined when there is none.
 *
 * @param step how many pauses of the schedule have passed.
 * @param chance a number from 0 up to 1.
 */
export function retryDelaySeconds(step: number, chance: number): number | undefined {
  const delay = RETRY_DELAYS_SECONDS[step]
  return delay && delay * (1 - JITTER + 2 * JITTER * chance)
}

/** What follows from a reply. `gone`: the receiver asks never to be called again (RFC 9110 section 15.5.11). */
export type Verdict = 'succeeded' | 'gone' | 'failed'

/** Only 2xx is a success: redirects are not followed. */
export function judgeReply(reply: Reply): Verdict {
  if ('error' in reply) return 'failed'
  if (reply.httpStatus >= 200 && reply.httpStatus <= 299) return 'succeeded'
  return reply.httpStatus === 410 ? 'gone' : 'failed'
}

export interface WebhookAttempt {
  readonly number: number
  readonly startedAt: Date
  readonly latencyMs: number
  readonly httpStatus: number | null
  readonly error: AttemptError | null
}

export interface WebhookDelivery {
  readonly tenantId: string
  readonly id: string
  readonly eventId: string
  readonly eventType: string
  readonly endpointId: string
  readonly status: DeliveryStatus
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  /** In their order; of very many, the last ones. */
  readonly attempts: readonly WebhookAttempt[]
}

export const showDeliveryId = (id: string): string => showId('wd', id)
export const parseDeliveryId = (text: string): string | undefined => parseId('wd', text)

/** The path at which a delivery can be read. */
export function deliveryPath(id: string): string {
  return `/v1/webhook-deliveries/${showDeliveryId(id)}`
}

/** The delivery as the API shows it; latencies in milliseconds, times in ISO 8601. */
export function presentDelivery(delivery: WebhookDelivery): Record<string, unknown> {
  return {
    id: showDeliveryId(delivery.id),
    object: 'webhook_delivery',
    event: showEventId(delivery.eventId),
    event_type: delivery.eventType,
    endpoint: showEndpointId(delivery.endpointId),
    status: delivery.status,
    next_attempt_at: delivery.nextAttemptAt?.toISOString() ?? null,
    attempts: delivery.attempts.map((attempt) => ({
      number: attempt.number,
      started_at: attempt.startedAt.toISOString(),
      latency_ms: attempt.latencyMs,
      http_status: attempt.httpStatus,
      error: attempt.error,
    })),
    created_at: delivery.createdAt.toISOString(),
  }
}
