// Reads the Idempotency-Key header. This is the only place that decides which headers mean the same
// key. Defines what becomes of a key: its cancellation, for a client that lost the answer and wants out, and
// its tombstone, which keeps what a deleted key created or changed. Computes the fingerprints of a request,
// which its retry has even if its JSON is formatted differently or spells a default out.
import { hash } from 'node:crypto'
import { type List, parseList } from 'structured-headers'
import canonicalize from 'canonicalize'
import { ProblemError } from '../problems/problem-error.ts'
import type { LocalOperation } from '../operations/operation.ts'
import { paymentPath } from '../payments/payment.ts'
import { refundPath } from '../payments/refund.ts'

export const KEY_LENGTH_MAX = 255

/**
 * Whether a key can stand in a path. URL parsers take these two for a folder, also when they are
 * encoded as `%2e` (https://url.spec.whatwg.org/#double-dot-path-segment).
 */
export const canBeInPath = (key: string): boolean => key !== '.' && key !== '..'

const PRINTABLE_ASCII = /^[\t\x20-\x7E]*$/

/**
 * Reads the key from the values of all Idempotency-Key header lines, as received and not joined.
 *
 * A quoted key is a string of RFC 9651 section 3.3.3, as required by section 2.1 of
 * draft-ietf-httpapi-idempotency-key-header-07. A bare key, as Stripe's SDKs send it, is visible
 * ASCII without spaces; a quote or comma inside is part of the key. Both forms mean the same key. A
 * quoted key may be nothing but spaces.
 * The draft defines no parameters, so parameters after a string are ignored: this can merge two
 * requests into one operation, but never split one operation into two.
 *
 * @throws ProblemError idempotency-key-missing, -repeated, -empty, -too-long (over 255 characters
 *   after unquoting) or -malformed, also for `.` and `..`. None of them repeats the value.
 */
export function parseIdempotencyKey(headerValues: readonly string[]): string {
  const [line, ...others] = headerValues
  if (line === undefined) throw new ProblemError('idempotency-key-missing')
  if (others.length > 0) throw new ProblemError('idempotency-key-repeated')
  if (!PRINTABLE_ASCII.test(line)) throw new ProblemError('idempotency-key-malformed')

  const value = line.trim()
  const key = value.startsWith('"') ? readQuotedKey(value) : readBareKey(value)
  if (key === '') throw new ProblemError('idempotency-key-empty')
  if (key.length > KEY_LENGTH_MAX) throw new ProblemError('idempotency-key-too-long')
  if (!canBeInPath(key)) throw new ProblemError('idempotency-key-malformed')
  return key
}

function readQuotedKey(value: string): string {
  // Clients and proxies may join two header lines with a comma. Parsing a list detects this.
  const [item, ...others] = readList(value)
  if (others.length > 0) throw new ProblemError('idempotency-key-repeated')
  const key = item?.[0]
  if (typeof key !== 'string') throw new ProblemError('idempotency-key-malformed')
  return key
}

function readList(value: string): List {
  try {
    return parseList(value)
  } catch {
    // The position of the syntax error is dropped; the caller only learns that there is one.
    throw new ProblemError('idempotency-key-malformed')
  }
}

function readBareKey(value: string): string {
  // A bare key has no spaces, so a comma followed by a space means that two header lines were
  // joined.
  if (/,\s/.test(value)) throw new ProblemError('idempotency-key-repeated')
  if (/\s/.test(value)) throw new ProblemError('idempotency-key-malformed')
  return value
}

/** Whether the service itself created the operation. Its key is never shown to clients. */
export function isInternalKey(key: string): boolean {
  return key.startsWith('§')
}

/**
 * What became of the cancellation of a key. `in_progress`: the operation is under way, or its payment
 * is being canceled or refunded. `prevented`: nothing was executed, and nothing ever is under this key.
 * `undone`: the payment is canceled, or the provider has accepted refunds of all its money.
 * `nothing_to_undo`: the operation ended without effect. `refused`: what the operation did cannot be
 * undone by the service.
 */
export const cancellationStatuses = [
  'in_progress',
  'prevented',
  'undone',
  'nothing_to_undo',
  'refused',
] as const
export type CancellationStatus = (typeof cancellationStatuses)[number]

/** The operation of a key that was canceled before its request arrived. */
export const CANCEL_KEY = 'idempotency_key.cancel' satisfies LocalOperation

/** The operations whose effect a cancellation can undo: they take money. */
export const undoableOperations = ['payment.create', 'payment.capture'] as const

/** What remains of an earlier operation with the same key. */
export interface Tombstone {
  readonly paymentId: string | null
  readonly refundId: string | null
  /** The path of the resource of a local operation, if there is one. */
  readonly location: string | null
  readonly expiredAt: Date
}

/**
 * The path of the resource that the earlier operation created or changed; undefined without one.
 */
export function earlierResourcePath(tombstone: Tombstone): string | undefined {
  if (tombstone.refundId !== null) return refundPath(tombstone.refundId)
  if (tombstone.paymentId !== null) return paymentPath(tombstone.paymentId)
  return tombstone.location ?? undefined
}

/** The settings of how long a key is kept after its final response. */
export interface KeyRetention {
  readonly KEY_RETENTION_SECONDS: number
  /** Of the operations that have one of their own, by name. */
  readonly KEY_RETENTION_SECONDS_BY_OPERATION?: Readonly<Record<string, number>> | undefined
}

export function retentionOf(settings: KeyRetention, operation: string): number {
  return settings.KEY_RETENTION_SECONDS_BY_OPERATION?.[operation] ?? settings.KEY_RETENTION_SECONDS
}

/** The longest retention that an operation has. */
export function longestRetention(settings: KeyRetention): number {
  const own = Object.values(settings.KEY_RETENTION_SECONDS_BY_OPERATION ?? {})
  return Math.max(settings.KEY_RETENTION_SECONDS, ...own)
}

/** The parts of a request that a retry must repeat; `path` excludes the query. */
export interface FingerprintedRequest {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** The fingerprint of a validated request. Only one of the same version can be compared with it. */
export interface ValidatedFingerprint {
  /** The rule by which the body was reduced to what it says. */
  readonly version: number
  readonly fingerprint: Buffer
}

/** What an idempotency key keeps of its request. */
export interface KeptFingerprints {
  /** Of the request as it was sent. */
  readonly fingerprint: Buffer
  readonly validated: ValidatedFingerprint | null
}

/** The fingerprints of a request that was validated. */
export interface RequestFingerprints {
  /** Of the request as it was sent. */
  readonly fingerprint: Buffer
  /** Of the validated request, by the rule of a version; undefined for an unknown version. */
  readonly validatedBy: (version: number) => Buffer | undefined
}

/**
 * The SHA-256 (32 bytes) of the request in canonical form: RFC 8785 (JCS) sorts the members and
 * defines how numbers and strings are written.
 *
 * @throws Error when the body contains values that JSON cannot express (NaN, a lone surrogate).
 */
export function fingerprintRequest({ method, path, body }: FingerprintedRequest): Buffer {
  // Each member is named, so that other members of the caller's object are not hashed.
  const canonical = canonicalize({ method, path, body }) ?? ''
  return hash('sha256', canonical, 'buffer')
}

/**
 * Whether the key was reserved for this request. The same bytes match, also after a change of the
 * schema; other bytes match if they say the same by the rule that the key was reserved under.
 */
export function isSameRequest(
  { fingerprint, validated }: KeptFingerprints,
  request: RequestFingerprints,
): boolean {
  if (fingerprint.equals(request.fingerprint)) return true
  if (validated === null) return false
  return request.validatedBy(validated.version)?.equals(validated.fingerprint) ?? false
}
