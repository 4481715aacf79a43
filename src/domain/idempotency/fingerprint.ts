// The fingerprint of a request: equal for a retry however its JSON is laid out, different for
// another request, so that a key is never answered with the result of something else.
import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

/** What makes two requests with one key the same request; `path` comes without its query. */
export interface FingerprintedRequest {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/**
 * The SHA-256 (32 bytes) of the request in canonical form: RFC 8785 (JCS) sorts the members and
 * fixes how numbers and strings are written.
 *
 * @throws Error when the body holds what JSON cannot say (NaN, a lone surrogate): validate first.
 */
export function fingerprintRequest({ method, path, body }: FingerprintedRequest): Buffer {
  // The members are named one by one: whatever else the caller's object holds is not hashed.
  const canonical = canonicalize({ method, path, body }) ?? ''
  return hash('sha256', canonical, 'buffer')
}
