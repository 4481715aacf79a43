// Defines webhook deliveries (one event for one endpoint): their retry schedule, the results of
// their attempts.
import { showId } from '../resource-id.ts'

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/**
 * Why an attempt got no answer. `no_public_address` says the same of a name that leads into a private
 * network and of one that does not exist, so that a tenant cannot ask for the names of our network.
 */
export const attemptErrors = [
  'url_refused',
  'body_too_large',
  'no_public_address',
  'connection_failed',
  'timeout',
] as const
type AttemptError = (typeof attemptErrors)[number]

/** The result of an attempt: the status of the answer, or why there was none. */
export type Reply = { readonly httpStatus: number } | { readonly error: AttemptError }

const MINUTE_SECONDS = 60
const HOUR_SECONDS = 60 * MINUTE_SECONDS

/**
 * The delay after each failed attempt. After the last delay there is one more attempt, then none.
 * This is the schedule that Standard Webhooks recommends: about three days, with the first attempts
 * close together.
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

/** The longest delay that a receiver can ask for: the longest one of the schedule. */
const ASKED_DELAY_MAX_SECONDS = 24 * HOUR_SECONDS

/** How many deliveries one replay starts again: enough for one statement. */
export const REPLAY_MAX = 500

/**
 * The random variation of a delay, so that deliveries that failed together are not retried
 * together.
 */
const JITTER = 0.1

/**
 * The seconds until the next attempt, in whole milliseconds; undefined when there is none. The
 * decimals of a random number would look like a card number in the log.
 *
 * @param step how many delays of the schedule have passed.
 * @param chance a random number from 0 up to 1.
 * @param askedSeconds the least delay that the receiver asked for.
 */
export function retryDelaySeconds(
  step: number,
  chance: number,
  askedSeconds = 0,
): number | undefined {
  const delay = RETRY_DELAYS_SECONDS[step]
  if (delay === undefined) return undefined
  const own = delay * (1 - JITTER + 2 * JITTER * chance)
  const asked = Math.min(askedSeconds, ASKED_DELAY_MAX_SECONDS) * (1 + JITTER * chance)
  return Math.round(Math.max(own, asked) * 1_000) / 1_000
}

const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /

/**
 * The seconds that a Retry-After header asks to wait from now on; undefined when it is malformed.
 * It has seconds or one of the three forms of a date (RFC 9110, sections 5.6.7 and 10.2.3).
 */
export function readRetryAfter(value: string, now: Date): number | undefined {
  if (/^\d+$/.test(value)) return Number(value)
  if (!HTTP_DATE.test(value)) return undefined
  // One form names no time zone.
  const atMs = Date.parse(value.endsWith(' GMT') ? value : `${value} GMT`)
  return Number.isNaN(atMs) ? undefined : (atMs - now.getTime()) / 1_000
}

/**
 * The judgement of a reply. `gone`: the receiver asks never to be called again (RFC 9110, 15.5.11).
 */
export type Verdict = 'succeeded' | 'gone' | 'failed'

/** Only 2xx is a success. Redirects are not followed. */
export function judgeReply(reply: Reply): Verdict {
  if ('error' in reply) return 'failed'
  if (reply.httpStatus >= 200 && reply.httpStatus <= 299) return 'succeeded'
  return reply.httpStatus === 410 ? 'gone' : 'failed'
}

interface WebhookAttempt {
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
  /** In chronological order. If there are very many, only the last ones. */
  readonly attempts: readonly WebhookAttempt[]
}

const showDeliveryId = (id: string): string => showId('wd', id)

/** The API path of a delivery. */
export function deliveryPath(id: string): string {
  return `/v1/webhook-deliveries/${showDeliveryId(id)}`
}
