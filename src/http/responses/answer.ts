// Defines the answer of an endpoint, and is the one place where answers and errors become HTTP.
import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import type { Response } from 'express'
import { isStoreUnavailable } from '../../db/connection/store-errors.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { renderProblem, type Flavor } from '../../domain/problems/flavor.ts'
import { mayRetry, type ProblemType } from '../../domain/problems/problems.ts'

/**
 * They forbid browsers to run, frame or load anything from an answer. An endpoint that serves a page
 * overrides the Content-Security-Policy. Those of helmet that say something for an API. Older
 * browsers know only `x-frame-options`.
 */
export const securityHeaders = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** The exact body: text, or bytes when it is large and always the same. */
  readonly body: string | Buffer
  /** Writes more after the body, until the response is ended. Such an answer has no length. */
  readonly goOn?: (response: ServerResponse) => void
}

export interface TextAnswer extends Answer {
  readonly body: string
}

/** Seconds after which a client may retry a request that failed for a reason without a schedule. */
const RETRY_AFTER_SECONDS = 1

/** The longest jitter: a minute more is little to a client that waits for an hour. */
const JITTER_MAX_SECONDS = 60

/**
 * Returns the header that asks a client to retry after a time, in whole seconds. The jitter spreads
 * clients that wait for the same event. It only adds: up to a tenth of the time, or one second.
 */
export function retryAfter(
  seconds = RETRY_AFTER_SECONDS,
  random: () => number = Math.random,
): { readonly 'retry-after': string } {
  const least = Math.max(1, Math.ceil(seconds))
  const jitter = Math.min(JITTER_MAX_SECONDS, Math.max(1, Math.floor(least / 10)))
  return { 'retry-after': String(least + Math.floor(random() * (jitter + 1))) }
}

const NOT_MODIFIED = 304

/** The length of a 304 would be that of the file which it leaves out (RFC 9110, section 8.6). */
function lengthOf({ status, body, goOn }: Answer): Record<string, string> {
  const hasNone = status === NOT_MODIFIED || goOn !== undefined
  return hasNone ? {} : { 'content-length': String(Buffer.byteLength(body)) }
}

/** Answers with a resource, or a list, as JSON. */
export function showJson(value: Readonly<Record<string, unknown>>, status = 200): Answer {
  return { status, headers: jsonType, body: JSON.stringify(value) }
}

export const jsonType = { 'content-type': 'application/json; charset=utf-8' }

/**
 * Answers a request that failed. An unavailable store is a 503, after which a retry with the same key
 * is safe; an unexpected error is a 500 whose cause is only in the log.
 */
export function problemAnswer(error: unknown, flavor: Flavor): TextAnswer {
  const { type, detail, headers, errors, extensions: others } = problemOf(error)
  const extensions = errors === undefined ? others : { ...others, errors }
  const { status, contentType, body } = renderProblem(flavor, type, detail, extensions)
  const later = mayRetry(type) ? retryAfter() : {}
  return { status, headers: { ...later, ...headers, 'content-type': contentType }, body }
}

/** Returns the problem that the client gets for an error. */
export function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  const type: ProblemType = isStoreUnavailable(error) ? 'store-unavailable' : 'internal-error'
  return new ProblemError(type)
}

/** Event of a response: all work for it is done. The client may not have read it yet. */
export const ANSWERED = 'answered'

/** Event of a response: its beginning is sent, and it goes on for as long as its client stays. */
export const GOES_ON = 'goes on'

/** Adds headers to every answer of a request from now on, errors included. */
export function addHeaders({ locals }: Response, headers: Answer['headers']): void {
  locals['headers'] = Object.assign((locals['headers'] as object | undefined) ?? {}, headers)
}

/** Sends the answer unchanged: a replay must have exactly the stored bytes. */
export function sendAnswer(response: Response, answer: Answer): void {
  // One call with all headers: Node checks and copies each header that is set singly.
  response.writeHead(answer.status, {
    ...securityHeaders,
    'cache-control': 'no-store',
    ...(response.locals['headers'] as Answer['headers']),
    ...answer.headers,
    ...lengthOf(answer),
  })
  if (answer.goOn !== undefined) {
    response.write(answer.body)
    answer.goOn(response)
    response.emit(GOES_ON)
    return
  }
  // Node sends a text together with the headers. It does not copy bytes, which matters for slow
  // clients.
  if (answer.headers?.['connection'] === 'close') endLingering(response, answer.body)
  else response.end(answer.body)
  response.emit(ANSWERED)
}

/** For the client to send the rest, and to read the answer. */
const LINGER_MS = 2_000

/**
 * Sends the body, and reads and discards the rest of the request for a while before it closes. A
 * connection that is closed with unread bytes is reset, and the client may lose the answer (RFC 9112
 * section 9.6).
 */
function endLingering(response: ServerResponse, body: string | Buffer): void {
  response.write(body)
  const signal = AbortSignal.timeout(LINGER_MS)
  finished(response.req.resume(), { signal }, () => response.end())
}
