// The parts of an answer to a keyed request that say what became of its key.
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import type { Answer } from '../responses/answer.ts'
import type { Preferences } from './prefer.ts'
import { tombstoneHeaders } from './tombstone-headers.ts'

/** `owner`: this request began the operation, or began it again. `retry`: another request did. */
export type Role = 'owner' | 'retry'

/** The stored response, marked as a replay for whoever did not set the operation going. */
export function replay(response: Answer, role: Role): Answer {
  if (role === 'owner') return response
  return { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } }
}

/** When the key may be forgotten, as an HTTP date, and what it had made before that happened last. */
export function expiry({ expiresAt, earlier }: IdempotencyKey): Record<string, string> {
  return {
    'idempotency-key-expires': expiresAt.toUTCString(),
    ...(earlier === null ? {} : tombstoneHeaders(earlier)),
  }
}

/** Which preferences were followed (RFC 7240 section 3). */
export function preferenceApplied(
  prefer: Preferences,
  role: Role,
  waitSeconds: number,
): Record<string, string> {
  const applied = []
  if (prefer.respondAsync && role === 'owner') applied.push('respond-async')
  if (prefer.waitSeconds !== undefined) applied.push(`wait=${waitSeconds}`)
  return applied.length === 0 ? {} : { 'preference-applied': applied.join(', ') }
}
