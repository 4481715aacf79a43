// Paces the reads of a process, so that lookups and lists leave Stripe's limits to the calls that
// move money: those never wait here. After a 429 all reads pause for a moment:
// this also reads why and for how long Stripe limits the rate of a request.

/** How long reads pause after a 429 without Retry-After, and at most. */
const PAUSE_MS = { usual: 1_000, most: 30_000 }

/** A read was not sent, because it would have had to wait for too long. */
export class TooManyReadsError extends Error {
  override name = 'TooManyReadsError'

  constructor() {
    super('too many reads wait for the provider')
  }
}

export interface Pace {
  /**
   * Resolves when a read may be sent. A second's worth of reads need not wait.
   *
   * @throws TooManyReadsError at once when that would take longer than the limit.
   */
  turn(limitMs: number): Promise<void>
  /** Stripe has limited the rate of a request. */
  pause(forMs?: number): void
}

/**
 * @param readsPerSecond 0: reads never wait.
 * @param clock for tests.
 */
export function createPace(
  readsPerSecond: number,
  clock = {
    nowMs: () => performance.now(),
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
  },
): Pace {
  if (readsPerSecond === 0) return { turn: async () => {}, pause: () => {} }
  const eachMs = 1_000 / readsPerSecond
  let nextAtMs = Number.NEGATIVE_INFINITY
  return {
    async turn(limitMs) {
      const nowMs = clock.nowMs()
      const atMs = Math.max(nextAtMs, nowMs - 1_000 + eachMs)
      const waitMs = atMs - nowMs
      if (waitMs > limitMs) throw new TooManyReadsError()
      nextAtMs = atMs + eachMs
      if (waitMs > 0) await clock.sleep(waitMs)
    },
    pause(forMs = PAUSE_MS.usual) {
      nextAtMs = Math.max(nextAtMs, clock.nowMs() + Math.min(forMs, PAUSE_MS.most))
    },
  }
}

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
