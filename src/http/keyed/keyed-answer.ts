// Builds the answer to a keyed request: the stored response, or what the state of the operation says.
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import type { Reservation } from '../../db/idempotency/intents.ts'
import { CANCEL_KEY } from '../../domain/idempotency/cancellation.ts'
import { isSameRequest, type RequestFingerprints } from '../../domain/idempotency/fingerprint.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { jsonType, retryAfter, type Answer } from '../responses/answer.ts'
import type { KeyedRoute } from './keyed-route.ts'
import type { Preferences } from './prefer.ts'
import { tombstoneHeaders } from './tombstone-headers.ts'

/** `owner`: this request created or reopened the operation. `retry`: an earlier request did. */
export type Role = 'owner' | 'retry'

/** Returns the stored response, marked as a replay unless the request owns the operation. */
export function replay(response: Answer, role: Role): Answer {
  if (role === 'owner') return response
  return { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } }
}

/** @throws ProblemError idempotency-key-reused unless the key belongs to this request. */
export function refuseOtherRequest(key: IdempotencyKey, fingerprints: RequestFingerprints): void {
  // A key that was canceled before its request arrived is final for every request.
  if (key.operation === CANCEL_KEY || isSameRequest(key, fingerprints)) return
  throw new ProblemError('idempotency-key-reused', { headers: expiry(key) })
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

/** @throws ProblemError when the operation has no response, and this request does not own it. */
export async function answerFor(
  route: KeyedRoute,
  parts: ApiParts,
  now: Reservation,
  role: Role,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const { key } = now
  if (key.response !== null) return replay(key.response, role)
  if (role === 'owner' && key.status !== 'failed_retryable') {
    const { path, body } = await withinStoreTimeout(parts, route.showUnfinished(parts, now))
    return { status: 202, headers: { ...jsonType, ...retryAfter, location: path }, body }
  }
  const problem = {
    failed_retryable: 'provider-unavailable',
    unknown: 'outcome-unknown',
    pending: 'operation-in-progress',
    processing: 'operation-in-progress',
    completed: 'internal-error',
  } as const
  throw new ProblemError(problem[key.status], { headers })
}
