// Decides whether a call is retried, and after which delay. The decision is a pure function of the
// last try's result and of the call's remaining budget. A final answer is never requested again.

/** The result of one try. */
export type TryResult =
  | {
      readonly kind: 'answer'
      readonly status: number
      /** The delay of Retry-After, counted from now. */
      readonly retryAfterMs?: number | undefined
      /** The value of Stripe-Should-Retry. */
      readonly shouldRetry?: boolean | undefined
      /** Idempotent-Replayed: the answer is the stored one, and therefore final. */
      readonly isReplay?: boolean | undefined
      /** The problem's name, for example `operation-in-progress`. */
      readonly problem?: string | undefined
    }
  /**
   * The connection failed, the try timed out, or something else than the service answered. The
   * operation may have been executed.
   */
  | { readonly kind: 'no_answer'; readonly retryAfterMs?: number | undefined }

export interface CallState {
  /** A GET, or a request with an idempotency key: the service executes it at most once. */
  readonly isIdempotent: boolean
  /** Failed tries, including the last one. That the operation is in progress does not count. */
  readonly failures: number
  /** Time left until the call's deadline. */
  readonly remainingMs: number
}

export interface RetryPolicy {
  /** Time limit of the call, with all tries and delays. */
  readonly deadlineMs: number
  /** Time limit of one try, from its first byte to its last. */
  readonly tryTimeoutMs: number
  /** Failures after which the call ends, even before its deadline. */
  readonly maxFailures: number
  /** Upper limit of the delay after the first failure. It doubles after each further failure. */
  readonly baseDelayMs: number
  readonly maxDelayMs: number
}

export type Decision =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly retry: false; readonly reason: 'final' | 'unsafe' | 'failures' | 'deadline' }

/** @param random a number from 0 to 1, for the jitter. */
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

/** The problems of an operation that has no final answer yet, in both flavours of the service. */
const IN_PROGRESS: readonly (string | undefined)[] = ['operation-in-progress', 'outcome-unknown']

/**
 * Whether the answer says that the operation has no final answer yet. Any other 409 that may be
 * retried is a failure, such as one of a proxy.
 */
export function isInProgress(result: TryResult): boolean {
  return result.kind === 'answer' && IN_PROGRESS.includes(result.problem) && isRetryable(result)
}

/**
 * Whether the operation may have been executed after this try, or may be later: the service said
 * nothing, something is wrong with it, or the operation is running.
 */
export function mayHaveRun(result: TryResult): boolean {
  return result.kind === 'no_answer' || result.status >= 500 || isInProgress(result)
}

/**
 * Whether the service turned the try away before it looked at the idempotency key. Such an answer
 * says nothing about an earlier try.
 */
export function isTurnedAway(result: TryResult): boolean {
  return result.kind === 'answer' && [401, 403, 429].includes(result.status)
}

function isRetryable(result: TryResult): boolean {
  if (result.kind === 'no_answer') return true
  if (result.status < 400) return false
  if (result.shouldRetry !== undefined) return result.shouldRetry
  if (result.isReplay === true) return false
  // A 409 without Retry-After reports a state that does not change by waiting.
  if (result.retryAfterMs !== undefined || result.status === 429) return true
  // Any of them may come from a proxy that lost the answer: 520 to 530 are common ones.
  if (result.status >= 500) return true
  // The other 408, `operation-timed-out`, is the final answer of an operation that the service
  // abandoned.
  return result.status === 408 && result.problem === 'request-timeout'
}

/**
 * Full jitter (https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/), added to
 * the delay of Retry-After: clients that get the same Retry-After do not all retry at the same
 * moment.
 */
function delayBefore(
  result: TryResult,
  failures: number,
  { baseDelayMs, maxDelayMs }: RetryPolicy,
  random: number,
): number {
  const minimumMs = result.retryAfterMs ?? 0
  const ceiling = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.max(0, failures - 1))
  return Math.round(minimumMs + random * ceiling)
}
