// Reads why and for how long Stripe limits the rate of a request.

/** @see https://docs.stripe.com/rate-limits */
const rateLimitReasons = [
  'global-rate',
  'endpoint-rate',
  'global-concurrency',
  'endpoint-concurrency',
  'resource-specific',
  'lock_timeout',
  'other',
] as const
type RateLimitReason = (typeof rateLimitReasons)[number]

export interface RateLimit {
  /** `lock_timeout`: something else holds the object, which says nothing about the rate. */
  readonly reason: RateLimitReason
  readonly retryAfterMs?: number
}

type Headers = Readonly<Record<string, unknown>>

/** @param code of the error in the body. */
export function readRateLimit(headers: Headers, code: unknown): RateLimit {
  const named = code === 'lock_timeout' ? code : headers['stripe-rate-limited-reason']
  const reason = rateLimitReasons.find((known) => known === named) ?? 'other'
  const retryAfterMs = readRetryAfterMs(headers)
  return retryAfterMs === undefined ? { reason } : { reason, retryAfterMs }
}

/** Whether the limit is about one object, which is locked or changed too often, and not the rate. */
export function isAboutObject({ reason }: RateLimit): boolean {
  return reason === 'lock_timeout' || reason === 'resource-specific'
}

/** Only in seconds: Stripe sends no dates. */
function readRetryAfterMs(headers: Headers): number | undefined {
  const seconds = Number.parseInt(String(headers['retry-after']), 10)
  return seconds >= 0 ? seconds * 1_000 : undefined
}

/** Whether Stripe advises against a repetition now; what it says about the call stays open. */
export function asksToWait(headers: Headers = {}): boolean {
  const advice = headers['stripe-should-retry']
  return advice === 'false' || (advice !== 'true' && (readRetryAfterMs(headers) ?? 0) > 0)
}
