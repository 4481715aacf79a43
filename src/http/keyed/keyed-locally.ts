// Serves keyed requests whose operation makes no provider call. One transaction reserves the key,
// does the work and stores the response, so that there is no state between accepted and completed.
import { randomUUIDv7 } from 'node:crypto'
import type { Transaction } from '../../db/connection/client.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import { doOnce, type LocalReservation } from '../../db/idempotency/local-operations.ts'
import { CANCEL_KEY } from '../../domain/idempotency/cancellation.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { LocalOperation, StoredResponse } from '../../domain/operations/operation.ts'
import { withTombstone } from './tombstone-headers.ts'
import { withinStoreTimeout, type ApiParts, type TenantEndpoint } from '../endpoint.ts'
import { expiry, replay } from './keyed-answer.ts'
import type { KeyedRequestParts } from './keyed-route.ts'
import { readKeyedRequest } from './keyed-intent.ts'
import { observeReservations } from './observe-reservations.ts'

/** Describes one local operation. */
export interface LocalRoute<Input> {
  readonly operation: LocalOperation
  /** A request without a body counts as a request with an empty object. */
  readonly mayOmitBody?: boolean
  /**
   * Validates the request without reading the store. Throws ProblemError for an invalid request.
   */
  readonly read: (request: KeyedRequestParts) => Input
  /**
   * Does the work and renders the final answer. It may use only statements of the transaction. An
   * error rolls everything back and leaves the key unused.
   */
  readonly work: (tx: Transaction, input: Input, tenantId: string) => Promise<StoredResponse>
}

/**
 * Creates an endpoint that does its work once per key. A retry gets the stored response byte for
 * byte. A retry during the first request waits for its transaction, which takes no longer than a
 * few statements.
 */
export function keyedLocally<Input>(route: LocalRoute<Input>): TenantEndpoint {
  return observeReservations(async (parts, request, tenantId) => {
    const keyed = await readKeyedRequest({ mayOmit: route.mayOmitBody ?? false }, parts, request)
    const { key, firstSent, body } = keyed
    const input = route.read({ parts, request, tenantId, body })
    const fingerprint = keyed.fingerprint()
    const reservation = {
      tenantId,
      id: randomUUIDv7(),
      key,
      firstSent,
      fingerprint,
      operation: route.operation,
      retentionSeconds: parts.settings.KEY_RETENTION_SECONDS,
      expiredKeys: parts.settings.EXPIRED_KEYS,
    }
    const work = (tx: Transaction) => route.work(tx, input, tenantId)
    const completed = await doWithinLimits(parts, reservation, work).catch(
      async (error: unknown) => {
        throw await withTombstone(parts, reservation, error)
      },
    )

    if (!completed.fingerprint.equals(fingerprint) && completed.operation !== CANCEL_KEY) {
      throw new ProblemError('idempotency-key-reused', { headers: expiry(completed) })
    }
    const { id, response } = completed
    if (response === null) throw new Error(`operation ${id} is completed without a response`)
    const answer = replay(response, id === reservation.id ? 'owner' : 'retry')
    return { ...answer, headers: { ...expiry(completed), ...answer.headers } }
  })
}

/** Reserves the key, unless the tenant has too many, and does the work. See `doOnce`. */
export async function doWithinLimits(
  parts: ApiParts,
  reservation: LocalReservation,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const { sql } = parts.store
  const { tenantId, key } = reservation
  const { storedKeys, storeBreaker } = parts.limits
  const isKnown = async () => {
    const found = await withinStoreTimeout(parts, findIdempotencyKey(sql, tenantId, key))
    return found !== undefined
  }
  return await storedKeys.within({ tenantId, most: parts.settings.MAX_STORED_KEYS }, isKnown, () =>
    storeBreaker.reserving(() => withinStoreTimeout(parts, doOnce(sql, reservation, work))),
  )
}
