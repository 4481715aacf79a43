// Computes the fingerprints of a request, and compares them with those of an idempotency key. A retry
// has the same ones even if its JSON is formatted differently or spells a default out; another
// request has different ones, so a key never returns the result of another request.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

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
