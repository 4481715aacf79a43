// What a client is told of a key that it has used before and that has expired since: always when, and
// where the resource is that the key had made.
import { findTombstone, KeyExpiredError } from '../../db/idempotency/key-tombstones.ts'
import { earlierResourcePath, type Tombstone } from '../../domain/idempotency/tombstone.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'

/** Headers of every response to a key that has an earlier life. */
export function tombstoneHeaders(earlier: Tombstone): Record<string, string> {
  const path = earlierResourcePath(earlier)
  return {
    'idempotency-key-expired': earlier.expiredAt.toUTCString(),
    ...(path === undefined ? {} : { 'idempotency-earlier-resource': path }),
  }
}

export function keyExpired(earlier: Tombstone): ProblemError {
  const path = earlierResourcePath(earlier)
  const made = path === undefined ? '' : ` What it was used for is at ${path}.`
  const detail = `The key expired at ${earlier.expiredAt.toISOString()}.${made}`
  return new ProblemError('idempotency-key-expired', {
    detail,
    headers: tombstoneHeaders(earlier),
  })
}

/** The error as a client is told of it, when a key could not be reserved or its work was refused. */
export async function withTombstone(
  parts: ApiParts,
  { tenantId, key }: { readonly tenantId: string; readonly key: string },
  error: unknown,
): Promise<unknown> {
  if (error instanceof KeyExpiredError) return keyExpired(error.earlier)
  if (!(error instanceof ProblemError)) return error
  // Nothing was written, and so the key has no row that would tell.
  const found = findTombstone(parts.store.sql, tenantId, key)
  const earlier = await withinStoreTimeout(parts, found)
  if (earlier === undefined) return error
  return error.withHeaders(tombstoneHeaders(earlier))
}
