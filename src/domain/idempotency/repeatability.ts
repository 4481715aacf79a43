// Reads the headers of OASIS Repeatable Requests 1.0: another name for the idempotency key, and when
// the client first sent the request. That time tells a late retry from a new request, after the key
// and its tombstone are gone.
import { ProblemError } from '../problems/problem-error.ts'
import { canBeInPath, parseIdempotencyKey } from './idempotency-key.ts'

/** How far the clocks of clients and of the database may differ. */
export const CLOCK_SKEW_SECONDS = 300

/** The values of all lines of each header, as received. */
export interface KeyHeaders {
  readonly idempotencyKey: readonly string[]
  readonly requestId: readonly string[]
  readonly firstSent: readonly string[]
  readonly clientId: readonly string[]
}

/** What identifies a keyed request. */
export interface RequestName {
  readonly key: string
  /** When the client sent the request for the first time, if it says so. */
  readonly firstSent: Date | undefined
}

/**
 * Reads the key from either header, and the time. Repeatability-Request-ID is a bare key without
 * quotes. It needs Repeatability-First-Sent (section 2.2), which Idempotency-Key may have.
 *
 * @throws ProblemError idempotency-key-..., or repeatability-... None of them repeats a value.
 */
export function readRequestName(headers: KeyHeaders): RequestName {
  // The tenant is the scope of a key. A narrower one would have to be stored with each key.
  if (headers.clientId.length > 0) throw new ProblemError('repeatability-client-id-unsupported')
  const requestId = readRequestId(headers.requestId)
  const firstSent = readFirstSent(headers.firstSent)
  if (requestId === undefined) {
    return { key: parseIdempotencyKey(headers.idempotencyKey), firstSent }
  }
  if (firstSent === undefined) throw new ProblemError('repeatability-first-sent-missing')
  if (headers.idempotencyKey.length > 0) {
    const key = parseIdempotencyKey(headers.idempotencyKey)
    if (key !== requestId) throw new ProblemError('repeatability-keys-differ')
  }
  return { key: requestId, firstSent }
}

const REQUEST_ID = /^[\x21-\x7E]{1,255}$/

function readRequestId([line, ...others]: readonly string[]): string | undefined {
  if (line === undefined) return undefined
  // Clients and proxies may join two header lines with a comma and a space.
  const isKey = REQUEST_ID.test(line) && !line.startsWith('"') && canBeInPath(line)
  if (others.length > 0 || !isKey) {
    throw new ProblemError('repeatability-request-id-malformed')
  }
  return line
}

/** An IMF-fixdate of RFC 9110, section 5.6.7, which is what `toUTCString` writes. */
function readFirstSent([line, ...others]: readonly string[]): Date | undefined {
  if (line === undefined) return undefined
  const time = new Date(line)
  const isFixdate = time.getTime() >= 0 && time.toUTCString() === line
  if (others.length > 0 || !isFixdate) {
    throw new ProblemError('repeatability-first-sent-malformed')
  }
  return time
}

/**
 * The greatest age of a request that may be executed. A key is kept for its retention after the
 * request arrived at the earliest, and the client's clock may have been ahead. So the key of a
 * younger request cannot have been deleted.
 */
export function oldestAgeSeconds(retentionSeconds: number): number {
  return retentionSeconds - CLOCK_SKEW_SECONDS
}
