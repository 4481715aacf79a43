// Describes the tombstone of an idempotency key to the client: when the key expired, and the path
// of the resource that it was used for.
import {
  findTombstone,
  FirstSentRefusedError,
  KeyExpiredError,
} from '../../db/idempotency/key-tombstones.ts'
import type { Intent } from '../../db/idempotency/intent.ts'
import { earlierResourcePath, type Tombstone } from '../../domain/idempotency/idempotency-key.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { oldestAgeSeconds } from '../../domain/idempotency/repeatability.ts'
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

/**
 * The refusal of a request for the time at which it was first sent. The store has decided by its
 * clock; here the two reasons are told apart, which are at least a day from each other.
 */
function refusalOfFirstSent(ageSeconds: number): ProblemError {
  const isInFuture = ageSeconds < 0
  return new ProblemError(
    isInFuture ? 'repeatability-first-sent-in-future' : 'repeatability-first-sent-too-old',
  )
}

/** What a request asked to reserve. */
type Asked = Pick<Intent, 'tenantId' | 'key' | 'firstSent' | 'retentionSeconds'>

/** Adds the tombstone of the key, if any, to the error of a request that reserved no key. */
export async function withTombstone(
  parts: ApiParts,
  asked: Asked,
  error: unknown,
): Promise<unknown> {
  const { tenantId, key, firstSent, retentionSeconds } = asked
  const ageSeconds = firstSent === undefined ? 0 : (Date.now() - firstSent.getTime()) / 1_000
  if (error instanceof FirstSentRefusedError) return refusalOfFirstSent(ageSeconds)
  if (error instanceof KeyExpiredError) {
    if (ageSeconds < oldestAgeSeconds(retentionSeconds)) return keyExpired(error.earlier)
    return refusalOfFirstSent(ageSeconds).withHeaders(tombstoneHeaders(error.earlier))
  }
  if (!(error instanceof ProblemError)) return error
  // The key was not reserved, so no row of it could have the tombstone.
  const lookup = findTombstone(parts.store.sql, tenantId, key)
  const earlier = await withinStoreTimeout(parts, lookup)
  if (earlier === undefined) return error
  return error.withHeaders(tombstoneHeaders(earlier))
}
