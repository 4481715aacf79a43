// Reads the bytes of a request body, and parses them as strict JSON. Limits the type to uncompressed JSON,
// or an uncompressed form, the size and the time. Refuses everything that two parsers could read
// differently, so that a payment means the same to all of them.
import type { IncomingMessage } from 'node:http'
import getRawBody from 'raw-body'
import { createScanner } from 'jsonc-parser'
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

/** Levels of objects and arrays; the top-level object is the first. */
export const NESTING_MAX = 20

/**
 * Parses the bytes of a body: one JSON object (RFC 8259) in UTF-8 without a byte order mark. A
 * member named `__proto__` becomes an own property, like any other.
 *
 * An integer written with a fraction or an exponent becomes NaN, which every schema refuses:
 * `10.00` is more likely to mean ten dollars than ten cents.
 *
 * @throws ProblemError malformed-json, duplicate-member (names are compared unescaped),
 *   nesting-too-deep (more than 20 levels) or forbidden-character (U+0000, a lone surrogate). None
 *   of them quotes the body.
 */
export function parseJsonBody(bytes: Uint8Array): Record<string, unknown> {
  const text = decode(bytes)
  // Comes first because it does not recurse. After it, the nesting is bounded.
  refuseUnsafeTokens(text)
  const body = parse(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ProblemError('malformed-json', { detail: 'The top level must be an object.' })
  }
  return body as Record<string, unknown>
}

/** `ignoreBOM` leaves a byte order mark in the text, where JSON does not allow it. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    // The decoder's error says no more than that these bytes are not UTF-8.
    throw new ProblemError('malformed-json', { detail: 'The body is not valid UTF-8.' })
  }
}

/** Matches every text that has a number with a fraction or an exponent; some strings match, too. */
const MAY_HAVE_FRACTION = /\d[.eE]/

function parse(text: string): unknown {
  try {
    // A reviver makes parsing ten times slower.
    if (!MAY_HAVE_FRACTION.test(text)) return JSON.parse(text)
    return JSON.parse(text, keepIntegersOnly as (name: string, value: unknown) => unknown)
  } catch {
    // V8's message is dropped: it quotes the body, which may hold a card number.
    throw new ProblemError('malformed-json')
  }
}

function keepIntegersOnly(_name: string, value: unknown, context: { source?: string }): unknown {
  const isRounded = Number.isInteger(value) && /[.eE]/.test(context.source ?? '')
  return isRounded ? Number.NaN : value
}

/** Scans the tokens once. Whether they form valid JSON is left to `JSON.parse`. */
function refuseUnsafeTokens(text: string): void {
  const scanner = createScanner(text, true)
  const namesByLevel: Set<string>[] = []
  let lastString = ''
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    // The first character of a token determines its kind.
    switch (text.charAt(scanner.getTokenOffset())) {
      case '"':
        lastString = scanner.getTokenValue()
        refuseForbiddenCharacters(lastString)
        break
      case '{':
      case '[':
        namesByLevel.push(new Set())
        if (namesByLevel.length > NESTING_MAX) throw new ProblemError('nesting-too-deep')
        break
      case '}':
      case ']':
        namesByLevel.pop()
        break
      case ':':
        addMemberName(namesByLevel.at(-1), lastString)
    }
  }
}

function refuseForbiddenCharacters(value: string): void {
  if (value.includes('\0') || !value.isWellFormed()) throw new ProblemError('forbidden-character')
}

function addMemberName(names: Set<string> | undefined, name: string): void {
  if (names?.has(name)) throw new ProblemError('duplicate-member')
  names?.add(name)
}
