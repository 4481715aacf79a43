// Files that a browser keeps: compressed once, and sent again only when they have changed.
import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request } from 'express'
import { headerLines } from '../endpoint.ts'
import type { Answer } from './answer.ts'

export interface StaticFile {
  readonly type: string
  readonly etag: string
  /** By content coding. */
  readonly bodies: Readonly<Record<'br' | 'gzip' | 'identity', Buffer>>
}

/** Of eleven steps: the last two take ten times as long, and save a tenth of the bytes. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 9 }

/** @param text a text, whose media type is `type`. */
export async function makeFile(type: string, text: string | Buffer): Promise<StaticFile> {
  const identity = Buffer.from(text)
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(identity, { params: BROTLI }),
    promisify(gzip)(identity),
  ])
  return {
    type: `${type}; charset=utf-8`,
    // Weak, because the bytes depend on the coding (RFC 9110, section 8.8.3.3).
    etag: `W/"${hash('sha256', identity, 'base64url')}"`,
    bodies: { br, gzip: gzipped, identity },
  }
}

/** A browser keeps the file, and asks each time whether it has changed. */
export function answerFile(
  request: Request,
  { type, etag, bodies }: StaticFile,
  policy: Readonly<Record<string, string>>,
): Answer {
  const headers = { ...policy, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  if (headerLines(request, 'if-none-match').join().includes(etag)) {
    return { status: 304, headers, body: '' }
  }
  // Without the header, RFC 9110 allows every coding; such a client mostly knows none.
  const accepted =
    request.headers['accept-encoding'] === undefined
      ? 'identity'
      : request.acceptsEncodings('br', 'gzip', 'identity')
  const coding = accepted === 'br' || accepted === 'gzip' ? accepted : 'identity'
  return {
    status: 200,
    headers: {
      ...headers,
      'content-type': type,
      ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
    },
    body: bodies[coding],
  }
}
