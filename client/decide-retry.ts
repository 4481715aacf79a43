// Decides whether a call is repeated, and when: a function of what a try brought and of what is left, which
// knows neither clock nor network. A final answer is never asked for again.

/** What one try brought. */
export type TryResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** What Retry-After asks for, counted from now. */
      readonly retryAfterMs?: number | undefined
      /** Stripe-Should-Retry. */
      readonly shouldRetry?: boolean | undefined
      /** Idempotent-Replayed: the stored, and so the final, answer. */
      readonly isReplay?: boolean | undefined
      /** The problem's name, such as `operation-in-progress`. */
      readonly problem?: string | undefined
    }
  /** The connection was refused or broke, or nothing came in time: it may or may not have been done. */
  | { readonly kind: 'no_answer' }

export interface CallState {
  /** A GET, or any request with a key: sent twice, it is done once. */
  readonly isIdempotent: boolean
  /** Tries that have failed, the last included; being told to wait is no failure. */
  readonly failures: number
  /** Until the deadline of the call. */
  readonly remainingMs: number
}

export interface RetryPolicy {
  /** All tries and the pauses between them. */
  readonly deadlineMs: number
  /** One try, from its first byte to its last. */
  readonly tryTimeoutMs: number
  /** Failures after which the call is given up, however much time is left. */
  readonly maxFailures: number
  /** The pause after the first failure is at most this long, after each further one twice as long. */
  readonly baseDelayMs: number
  readonly maxDelayMs: number
}

export type Decision =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly retry: false; readonly reason: 'final' | 'unsafe' | 'failures' | 'deadline' }

/** Answers that say of themselves that another try may end otherwise. */
const TRANSIENT_STATUSES: readonly number[] = [429, 500, 502, 503, 504]

/** @param random from 0 to 1, for the jitter. */
export function decideRetry(
  result: TryResult,
  { isIdempotent, failures, remainingMs }: CallState,
  policy: RetryPolicy,
  random: number,
): Decision {
  if (!isRetryable(result)) return { retry: false, reason: 'final' }
  if (!isIdempotent) return { retry: false, reason: 'unsafe' }
  if (failures >= policy.maxFailures) return { retry: false, reason: 'failures' }
  const delayMs = delayBefore(result, failures, policy, random)
  if (delayMs >= remainingMs) return { retry: false, reason: 'deadline' }
  return { retry: true, delayMs }
}

/** Whether the service only asks for patience: the call is being worked on. */
export function isInProgress(result: TryResult): boolean {
  return result.kind === 'answer' && result.status === 409 && isRetryable(result)
}

function isRetryable(result: TryResult): boolean {
  if (result.kind === 'no_answer') return true
  if (result.status < 400) return false
  if (result.shouldRetry !== undefined) return result.shouldRetry
  if (result.isReplay === true) return false
  // A 409 with Retry-After is in flight; one without is a state that no patience changes.
  if (result.retryAfterMs !== undefined || TRANSIENT_STATUSES.includes(result.status)) return true
  // The other 408 is the final answer of an operation that was given up.
  return result.status === 408 && result.problem === 'request-timeout'
}

/**
 * Full jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), on top of what
 * Retry-After asks for: many clients that are told the same second do not come back in the same moment.
 */
function delayBefore(
  result: TryResult,
  failures: number,
  { baseDelayMs, maxDelayMs }: RetryPolicy,
  random: number,
): number {
  const minimumMs = result.kind === 'answer' ? (result.retryAfterMs ?? 0) : 0
  const ceiling = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.max(0, failures - 1))
  return Math.round(minimumMs + random * ceiling)
}
