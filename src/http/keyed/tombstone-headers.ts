// Describes the tombstone of an idempotency key to the client: when the key expired, and the path
// of the resource that it was used for.
import { findTombstone, KeyExpiredError } from '../../db/idempotency/key-tombstones.ts'
import { earlierResourcePath, type Tombstone } from '../../domain/idempotency/tombstone.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'

/** Returns the headers of every response to a key that has a tombstone. */
export function tombstoneHeaders(earlier: Tombstone): Record<string, string> {
  const path = earlierResourcePath(earlier)
  return {
    'idempotency-key-expired': earlier.expiredAt.toUTCString(),
    ...(path === undefined ? {} : { 'idempotency-earlier-resource': path }),
  }
}

export function keyExpired(earlier: Tombstone): ProblemError {
  const path = earlierResourcePath(earlier)
  const resource = path === undefined ? '' : ` The resource it was used for is at ${path}.`
  const detail = `The key expired at ${earlier.expiredAt.toISOString()}.${resource}`
  return new ProblemError('idempotency-key-expired', {
    detail,
    headers: tombstoneHeaders(earlier),
  })
}

/** Adds the tombstone of the key, if any, to the error of a request that reserved no key. */
export async function withTombstone(
  parts: ApiParts,
  { tenantId, key }: { readonly tenantId: string; readonly key: string },
  error: unknown,
): Promise<unknown> {
  if (error instanceof KeyExpiredError) return keyExpired(error.earlier)
  if (!(error instanceof ProblemError)) return error
  // The key was not reserved, so no row of it could have the tombstone.
  const lookup = findTombstone(parts.store.sql, tenantId, key)
  const earlier = await withinStoreTimeout(parts, lookup)
  if (earlier === undefined) return error
  return error.withHeaders(tombstoneHeaders(earlier))
}
