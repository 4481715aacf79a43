// What an endpoint answers, and the one place where an answer, or an error, becomes HTTP.
import type { Response } from 'express'
import { isStoreUnavailable } from '../../db/connection/store-errors.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { renderProblem, type Flavor } from '../../domain/problems/flavor.ts'
import { mayRetry, type ProblemType } from '../../domain/problems/problems.ts'

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** The body's exact text; as bytes when it is large and always the same. */
  readonly body: string | Buffer
}

export interface TextAnswer extends Answer {
  readonly body: string
}

/** Seconds after which a client may try again what was not possible now. */
export const RETRY_AFTER_SECONDS = 1

export const retryAfter = { 'retry-after': String(RETRY_AFTER_SECONDS) }

/** An answer that shows a resource, or a list, as JSON. */
export function showJson(value: Readonly<Record<string, unknown>>): Answer {
  return { status: 200, headers: jsonType, body: JSON.stringify(value) }
}

export const jsonType = { 'content-type': 'application/json; charset=utf-8' }

/**
 * The answer to a request that failed. A store that cannot serve is a 503 that promises nothing was
 * executed here; an error that nobody foresaw is a 500 whose cause only the log tells.
 */
export function problemAnswer(error: unknown, flavor: Flavor): TextAnswer {
  const { type, detail, headers, errors } = problemOf(error)
  const extensions = errors === undefined ? {} : { errors }
  const { status, contentType, body } = renderProblem(flavor, type, detail, extensions)
  const later = mayRetry(type) ? retryAfter : {}
  return { status, headers: { ...later, ...headers, 'content-type': contentType }, body }
}

/** The problem that is told of an error. */
export function problemOf(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  const type: ProblemType = isStoreUnavailable(error) ? 'store-unavailable' : 'internal-error'
  return new ProblemError(type)
}

/** Emitted by a response once all work for it is done; whether its client takes it is another matter. */
export const ANSWERED = 'answered'

/** Sends the answer as it is: its bytes are what was stored, so nothing may reformat them. */
export function sendAnswer(response: Response, answer: Answer): void {
  response.status(answer.status).set({
    'cache-control': 'no-store',
    ...answer.headers,
    'content-length': String(Buffer.byteLength(answer.body)),
  })
  // As a text it leaves in one piece with the headers; bytes are not copied for a client that is slow.
  response.end(answer.body)
  response.emit(ANSWERED)
}
