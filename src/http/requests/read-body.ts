// Reads the bytes of a request body: JSON only, as it is, and not too much of it.
import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, type ApiParts } from '../endpoint.ts'

export const BODY_MAX_BYTES = 64 * 1024

/** From the end of the headers to the last byte: who is slower keeps room that others need. */
const BODY_TIMEOUT_MS = 5_000

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

/**
 * The body of a request. One that is too large is not read to its end: the connection is closed.
 *
 * @throws ProblemError unsupported-content-type, unsupported-content-encoding, body-too-large,
 *   request-timeout, or overloaded: others need the place that it had.
 */
export async function readBody(
  { limits }: Pick<ApiParts, 'limits'>,
  request: IncomingMessage,
  maxBytes = BODY_MAX_BYTES,
): Promise<Uint8Array> {
  const types = headerLines(request, 'content-type')
  if (types.length !== 1 || !JSON_TYPE.test(types[0] ?? '')) {
    throw new ProblemError('unsupported-content-type')
  }
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new ProblemError('unsupported-content-encoding')
  }
  // Its client has gone. The reader would wait for an end that has been.
  if (request.destroyed) throw endedEarly()
  try {
    const length = request.headers['content-length'] ?? null
    return await limits.places.whileArriving(request, (refused) =>
      inTime(getRawBody(request, { length, limit: maxBytes }), refused),
    )
  } catch (error) {
    throw explain(error)
  }
}

/** Nothing of a reading that was given up may be held: a timer would hold all of it. */
async function inTime<Value>(reading: Promise<Value>, refused?: AbortSignal): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new ProblemError('request-timeout', { headers: { connection: 'close' } })),
      BODY_TIMEOUT_MS,
    )
    refused?.addEventListener('abort', () => reject(refused.reason as ProblemError))
  })
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
  }
}

function explain(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  const kind = error instanceof Error && 'type' in error ? error.type : undefined
  if (kind === 'entity.too.large') {
    return new ProblemError('body-too-large', { headers: { connection: 'close' } })
  }
  // The client went away, or sent less than it promised: nobody is there to read the answer.
  return endedEarly(error)
}

function endedEarly(cause?: unknown): ProblemError {
  return new ProblemError('malformed-json', { detail: 'The body ended early.', cause })
}

/** Whether a body comes with the request (RFC 9112 section 6.3); one of no bytes does not count. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
