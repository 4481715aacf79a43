// The middleware of openapi-fetch that makes retries safe: every try of a call is the same bytes under the
// same key, until an answer is final, the deadline has come, or the caller wants no more.
import type { Middleware } from 'openapi-fetch'
import {
  decideRetry,
  isInProgress,
  type Decision,
  type RetryPolicy,
  type TryResult,
} from './decide-retry.ts'
import { NoAnswerError, readProblem } from './errors.ts'

export interface RetryOptions extends Partial<RetryPolicy> {
  /** Told of each retry before its pause, for logs and figures. */
  readonly onRetry?: (retry: Retry) => void
  /** From 0 to 1. */
  readonly random?: () => number
}

export interface Retry {
  readonly idempotencyKey: string | undefined
  /** What the try before it brought. */
  readonly after: TryResult
  readonly delayMs: number
}

export const DEFAULT_POLICY: RetryPolicy = {
  deadlineMs: 60_000,
  tryTimeoutMs: 30_000,
  maxFailures: 8,
  baseDelayMs: 250,
  maxDelayMs: 8_000,
}

type Policy = RetryPolicy & RetryOptions

/** One call: what all of its tries have in common. */
interface Call {
  readonly request: Request
  /** Kept, because the body of a Request can be read once. */
  readonly body: ArrayBuffer | undefined
  readonly idempotencyKey: string | undefined
  readonly endsAt: number
}

type Try =
  | { readonly result: TryResult; readonly response: Response }
  | { readonly result: TryResult; readonly cause: unknown }

type Fetch = (request: Request) => Promise<Response>

/**
 * Answers in place of the one fetch that openapi-fetch would do, so that it has to be the last middleware,
 * and none before it sees the answer.
 */
export function retryMiddleware(options: RetryOptions = {}): Middleware {
  const policy = { ...DEFAULT_POLICY, ...options }
  return {
    onRequest: async ({ request, options: { fetch } }) =>
      await retryUntilFinal(await readCall(request, policy), fetch, policy),
  }
}

async function readCall(request: Request, { deadlineMs }: RetryPolicy): Promise<Call> {
  return {
    request,
    body: request.body === null ? undefined : await request.arrayBuffer(),
    idempotencyKey: request.headers.get('idempotency-key') ?? undefined,
    endsAt: performance.now() + deadlineMs,
  }
}

async function retryUntilFinal(call: Call, fetch: Fetch, policy: Policy): Promise<Response> {
  const { idempotencyKey, request } = call
  let failures = 0
  for (let tries = 1; ; tries += 1) {
    const last = await tryOnce(call, fetch, policy)
    request.signal.throwIfAborted()
    if (!isInProgress(last.result)) failures += 1
    const decision = decide(call, last.result, failures, policy)
    if (!decision.retry) {
      if ('response' in last) return last.response
      throw new NoAnswerError(tries, idempotencyKey, last.cause)
    }
    policy.onRetry?.({ idempotencyKey, after: last.result, delayMs: decision.delayMs })
    await pause(decision.delayMs, request.signal)
  }
}

function decide(call: Call, result: TryResult, failures: number, policy: Policy): Decision {
  const { request, idempotencyKey, endsAt } = call
  const isIdempotent = idempotencyKey !== undefined || ['GET', 'HEAD'].includes(request.method)
  const state = { isIdempotent, failures, remainingMs: endsAt - performance.now() }
  return decideRetry(result, state, policy, (policy.random ?? Math.random)())
}

/** A try counts as answered when its last byte is there: half an answer says nothing. */
async function tryOnce(call: Call, fetch: Fetch, policy: RetryPolicy): Promise<Try> {
  const { request, body } = call
  const { signal, release } = startTryLimit(call, policy)
  try {
    const init = body === undefined ? { signal } : { signal, body }
    const response = await fetch(new Request(request, init))
    const bytes = await response.arrayBuffer()
    const { status, statusText, headers } = response
    // A 204 must not have a body, not even an empty one.
    const whole = bytes.byteLength === 0 ? null : bytes
    return {
      result: readResult(response, bytes),
      response: new Response(whole, { status, statusText, headers }),
    }
  } catch (cause) {
    return { result: { kind: 'no_answer' }, cause }
  } finally {
    release()
  }
}

/**
 * What ends a try early: the caller, its own limit, or the deadline of the call. The timer is made by hand,
 * because what AbortSignal.any makes of timeouts may be collected as garbage before they come.
 */
function startTryLimit(
  { request: { signal: caller }, endsAt }: Call,
  { tryTimeoutMs }: RetryPolicy,
) {
  const controller = new AbortController()
  const stop = () => controller.abort(caller.reason)
  const expire = () => controller.abort(new DOMException('nothing came in time', 'TimeoutError'))
  // Timers may be a millisecond early, and this one must not leave time for another try.
  const remainingMs = Math.max(0, Math.ceil(endsAt - performance.now())) + 1
  const timer = setTimeout(expire, Math.min(tryTimeoutMs, remainingMs))
  caller.addEventListener('abort', stop)
  if (caller.aborted) stop()
  const release = () => {
    clearTimeout(timer)
    caller.removeEventListener('abort', stop)
  }
  return { signal: controller.signal, release }
}

function readResult({ status, headers }: Response, body: ArrayBuffer): TryResult {
  const shouldRetryHeader = headers.get('stripe-should-retry')
  return {
    kind: 'answer',
    status,
    retryAfterMs: readRetryAfter(headers.get('retry-after'), Date.now()),
    shouldRetry:
      shouldRetryHeader === 'true' || shouldRetryHeader === 'false'
        ? shouldRetryHeader === 'true'
        : undefined,
    isReplay: headers.get('idempotent-replayed') === 'true',
    problem: status < 400 ? undefined : readProblem(parseJson(body)).problem,
  }
}

/** Milliseconds from now; the header has seconds or an HTTP date (RFC 9110 section 10.2.3). */
export function readRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1_000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

function parseJson(bytes: ArrayBuffer): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    // A proxy's page, for instance: what it says is in the answer, and no problem of the service.
    return undefined
  }
}

/** Rejects with the caller's reason as soon as it wants no more. */
async function pause(delayMs: number, caller: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, delayMs)
  const stop = () => over.reject(caller.reason as Error)
  caller.addEventListener('abort', stop, { once: true })
  try {
    caller.throwIfAborted()
    await over.promise
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', stop)
  }
}
