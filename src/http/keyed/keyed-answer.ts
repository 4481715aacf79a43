// Builds the parts of an answer that describe the idempotency key of the request.
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import type { Answer } from '../responses/answer.ts'
import type { Preferences } from './prefer.ts'
import { tombstoneHeaders } from './tombstone-headers.ts'

/** `owner`: this request created or reopened the operation. `retry`: an earlier request did. */
export type Role = 'owner' | 'retry'

/** Returns the stored response, marked as a replay unless the request owns the operation. */
export function replay(response: Answer, role: Role): Answer {
  if (role === 'owner') return response
  return { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } }
}

/** Returns the headers with the expiry of the key, and with its tombstone. */
export function expiry({ expiresAt, earlier }: IdempotencyKey): Record<string, string> {
  return {
    'idempotency-key-expires': expiresAt.toUTCString(),
    ...(earlier === null ? {} : tombstoneHeaders(earlier)),
  }
}

/** Returns the header with the preferences that were applied (RFC 7240 section 3). */
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
