// Computes the fingerprint of a request. A retry has the same fingerprint even if its JSON is
// formatted differently; another request has a different one, so a key never returns the result of
// another request.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** The parts of a request that a retry must repeat; `path` excludes the query. */
export interface FingerprintedRequest {
  readonly method: string
  readonly path: string
  readonly body: unknown
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
