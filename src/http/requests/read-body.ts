// Reads the bytes of a request body. Limits its type to uncompressed JSON, or an uncompressed form, its
// size and the time it takes.
import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { headerLines, type ServiceParts } from '../endpoint.ts'

export const BODY_MAX_BYTES = 64 * 1024

/** From the end of the headers to the last byte. A slower client would block others. */
export const BODY_TIMEOUT_MS = 5_000

/** Empty parameters count as none (RFC 9110 section 5.6.6). Others than the charset are refused. */
const UTF_8 = '[ \\t]*(?:;[ \\t]*(?:charset=(?:utf-8|"utf-8")[ \\t]*)?)*$'
const contentTypes = {
  json: new RegExp(`^application/json${UTF_8}`, 'i'),
  form: new RegExp(`^application/x-www-form-urlencoded${UTF_8}`, 'i'),
}

/**
 * Reads the body of a request. One that is too large is not kept, and its answer closes the
 * connection.
 *
 * @throws ProblemError unsupported-content-type, unsupported-content-encoding, body-too-large,
 *   request-timeout, or overloaded when the slot of the request was given to a newer one.
 */
export async function readBody(
  { limits }: Pick<ServiceParts, 'limits'>,
  request: IncomingMessage,
  {
    maxBytes = BODY_MAX_BYTES,
    contentType = 'json',
  }: { maxBytes?: number; contentType?: keyof typeof contentTypes } = {},
): Promise<Uint8Array> {
  const types = headerLines(request, 'content-type')
  if (types.length !== 1 || !contentTypes[contentType].test(types[0] ?? '')) {
    throw new ProblemError('unsupported-content-type')
  }
  const encoding = request.headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    throw new ProblemError('unsupported-content-encoding')
  }
  // The client is gone. The reader would wait for an `end` event that was already emitted.
  if (request.destroyed) throw endedEarly()
  const arrived = readArrived(request, maxBytes)
  if (arrived !== undefined) return arrived
  try {
    const length = request.headers['content-length'] ?? null
    return await limits.slots.whileArriving(request, (refused) =>
      inTime(getRawBody(request, { length, limit: maxBytes }), refused),
    )
  } catch (error) {
    throw explain(error)
  }
}

/** Returns a body that has arrived whole: most come together with their headers. */
function readArrived(request: IncomingMessage, maxBytes: number): Buffer | undefined {
  const length = Number(request.headers['content-length'] ?? 0)
  if (length === 0 || length > maxBytes || request.readableLength !== length) return undefined
  const body = request.read() as Buffer
  // Without a reader, the `end` event would wait for the answer.
  request.resume()
  return body
}

/** Clears the timer in the end: it would keep the whole body of an abandoned read in memory. */
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
  // The client disconnected, or sent less than its Content-Length. It will not read the answer.
  return endedEarly(error)
}

function endedEarly(cause?: unknown): ProblemError {
  return new ProblemError('malformed-json', { detail: 'The body ended early.', cause })
}

/** Whether the request has a body (RFC 9112 section 6.3). A body of zero bytes does not count. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
