// The openapi-fetch middleware that retries calls. Every try of a call sends the same bytes and the
// same key, until an answer is final, the deadline is reached, or the caller aborts.
import type { Middleware } from 'openapi-fetch'
import {
  decideRetry,
  isInProgress,
  isTurnedAway,
  mayHaveRun,
  type Decision,
  type RetryPolicy,
  type TryResult,
} from './decide-retry.ts'
import { ApiError, NoAnswerError, readProblem } from './errors.ts'
import { checkOwn } from './own-answers.ts'

export interface RetryOptions extends Partial<RetryPolicy> {
  /** Called before the delay of each retry, for logs and metrics. */
  readonly onRetry?: (retry: Retry) => void
  /** Returns a number from 0 to 1, for the jitter. */
  readonly random?: () => number
}

export interface Retry {
  readonly idempotencyKey: string | undefined
  /** The result of the try before this retry. */
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

/** One call: the members that all its tries share. */
interface Call {
  readonly request: Request
  /** Buffered, because the body of a Request can be read only once. */
  readonly body: ArrayBuffer | undefined
  readonly idempotencyKey: string | undefined
  readonly endsAt: number
}

type Try =
  | { readonly result: TryResult; readonly response: Response; readonly body: unknown }
  | { readonly result: TryResult; readonly cause: unknown }

type Fetch = (request: Request) => Promise<Response>

/**
 * Returns the answer in place of the single fetch that openapi-fetch would make. Therefore it must
 * be the last middleware, and no middleware before it sees the answer.
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
  let isInDoubt = false
  for (let tries = 1; ; tries += 1) {
    const last = await tryOnce(call, fetch, policy)
    request.signal.throwIfAborted()
    if (!isInProgress(last.result)) failures += 1
    const decision = decide(call, last.result, failures, policy)
    if (!decision.retry) {
      if (!('response' in last)) throw new NoAnswerError(tries, idempotencyKey, last.cause)
      const { response, body, result } = last
      if (!isInDoubt || !isTurnedAway(result)) return response
      throw new NoAnswerError(tries, idempotencyKey, new ApiError(body, response))
    }
    isInDoubt ||= mayHaveRun(last.result)
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

/** Reads the whole body: a try whose answer is incomplete counts as a try without an answer. */
async function tryOnce(call: Call, fetch: Fetch, policy: RetryPolicy): Promise<Try> {
  const { signal, release } = startTryLimit(call, policy)
  let retryAfterMs: number | undefined
  try {
    const response = await fetch(requestOf(call, signal))
    retryAfterMs = readRetryAfter(response.headers.get('retry-after'), Date.now())
    const bytes = await response.arrayBuffer()
    const body = parseJson(bytes)
    checkOwn(call.request, response, body)
    const { status, statusText, headers } = response
    // The Response constructor rejects any body for a 204, even an empty one.
    const whole = bytes.byteLength === 0 ? null : bytes
    return {
      result: readResult(response, body, retryAfterMs),
      response: new Response(whole, { status, statusText, headers }),
      body,
    }
  } catch (cause) {
    return { result: { kind: 'no_answer', retryAfterMs }, cause }
  } finally {
    release()
  }
}

/** A redirect is not followed: fetch would make a GET of a POST, and send it with the API key. */
function requestOf({ request, body }: Call, signal: AbortSignal): Request {
  const init = { signal, redirect: 'manual' } as const
  return new Request(request, body === undefined ? init : { ...init, body })
}

/**
 * Aborts a try when the caller aborts, at the try's time limit, or at the call's deadline. It uses
 * its own timer, because a signal that AbortSignal.any derives from a timeout may be
 * garbage-collected before it fires.
 */
function startTryLimit(
  { request: { signal: caller }, endsAt }: Call,
  { tryTimeoutMs }: RetryPolicy,
) {
  const controller = new AbortController()
  const stop = () => controller.abort(caller.reason)
  const expire = () => controller.abort(new DOMException('the try timed out', 'TimeoutError'))
  // A timer may fire a millisecond early. This one must not leave time for another try.
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

function readResult(
  { status, headers }: Response,
  body: unknown,
  retryAfterMs: number | undefined,
): TryResult {
  const shouldRetryHeader = headers.get('stripe-should-retry')
  return {
    kind: 'answer',
    status,
    retryAfterMs,
    shouldRetry:
      shouldRetryHeader === 'true' || shouldRetryHeader === 'false'
        ? shouldRetryHeader === 'true'
        : undefined,
    isReplay: headers.get('idempotent-replayed') === 'true',
    problem: status < 400 ? undefined : readProblem(body).problem,
  }
}

/** Milliseconds from now. The header holds seconds or an HTTP date (RFC 9110 section 10.2.3). */
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
    return undefined
  }
}

/** Waits. Rejects with the caller's reason when the caller aborts. */
async function pause(delayMs: number, caller: AbortSignal): Promise<void> {
  caller.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      caller.removeEventListener('abort', end)
      if (caller.aborted) reject(caller.reason as Error)
      else resolve()
    }
    const timer = setTimeout(end, delayMs)
    caller.addEventListener('abort', end)
  })
}
