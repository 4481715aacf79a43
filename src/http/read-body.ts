// Reads the bytes of a request body: JSON only, as it is, and not too much of it.
import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import { ProblemError } from '../domain/errors.ts'
import { headerLines } from './endpoint.ts'

const BODY_MAX_BYTES = 64 * 1024

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

const readRaw = express.raw({ type: () => true, limit: BODY_MAX_BYTES, inflate: false })

/**
 * The body of a request.
 *
 * @throws ProblemError unsupported-content-type, unsupported-content-encoding or body-too-large.
 */
export async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const types = headerLines(request, 'content-type')
  if (types.length !== 1 || !JSON_TYPE.test(types[0] ?? '')) {
    throw new ProblemError('unsupported-content-type')
  }
  const withBody: IncomingMessage & { body?: unknown } = request
  await new Promise<void>((resolve, reject) => {
    // The parser takes a response for its signature only.
    readRaw(request, {} as ServerResponse, (error?: unknown) => {
      if (error === undefined) resolve()
      else reject(explain(error))
    })
  })
  return withBody.body instanceof Uint8Array ? withBody.body : new Uint8Array()
}

function explain(error: unknown): unknown {
  const kind = error instanceof Error && 'type' in error ? error.type : undefined
  if (kind === 'entity.too.large') return new ProblemError('body-too-large')
  if (kind === 'encoding.unsupported') return new ProblemError('unsupported-content-encoding')
  // The client went away, or sent less than it promised: nobody is there to read the answer.
  return new ProblemError('malformed-json', { detail: 'The body ended early.', cause: error })
}

/** Whether a body comes with the request (RFC 9112 section 6.3); one of no bytes does not count. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
