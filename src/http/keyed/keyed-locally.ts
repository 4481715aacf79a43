// Serves keyed requests whose operation makes no provider call. One transaction reserves the key,
// does the work and stores the response, so that there is no state between accepted and completed.
import { randomUUIDv7 } from 'node:crypto'
import type { z } from 'zod'
import type { Transaction } from '../../db/connection/client.ts'
import { findIdempotencyKey, type IdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import { doOnce, type LocalReservation } from '../../db/idempotency/local-operations.ts'
import { retentionOf } from '../../domain/idempotency/retention.ts'
import type { LocalOperation, StoredResponse } from '../../domain/operations/operation.ts'
import { withTombstone } from './tombstone-headers.ts'
import { withinStoreTimeout, type ApiParts, type TenantEndpoint } from '../endpoint.ts'
import { refuseOtherRequest, replay } from './keyed-answer.ts'
import type { KeyedRequestParts } from './keyed-route.ts'
import {
  readKeyedRequest,
  currentFingerprint,
  fingerprintsOf,
  refuseShortKey,
} from './keyed-intent.ts'
import { observeReservations } from './observe-reservations.ts'
import { validateBody } from '../requests/validate-body.ts'

/** Describes one local operation. */
export interface LocalRoute<Body extends z.ZodObject, Input> {
  readonly operation: LocalOperation
  readonly body: Body
  /** A request without a body counts as a request with an empty object. */
  readonly mayOmitBody?: boolean
  /**
   * Reads the request with its validated body, without reading the store. Throws ProblemError for an
   * invalid request.
   */
  readonly read: (request: ValidRequest<z.output<Body>>) => Input
  /**
   * Does the work and renders the final answer. It may use only statements of the transaction. An
   * error rolls everything back and leaves the key unused.
   */
  readonly work: (tx: Transaction, input: Input, tenantId: string) => Promise<StoredResponse>
}

type ValidRequest<Body> = Omit<KeyedRequestParts, 'body'> & { readonly body: Body }

/**
 * Creates an endpoint that does its work once per key. A retry gets the stored response byte for
 * byte. A retry during the first request waits for its transaction, which takes no longer than a
 * few statements.
 */
export function keyedLocally<Body extends z.ZodObject, Input>(
  route: LocalRoute<Body, Input>,
): TenantEndpoint {
  return observeReservations(async (parts, request, tenantId) => {
    const keyed = await readKeyedRequest({ mayOmit: route.mayOmitBody ?? false }, parts, request)
    const body = validateBody(route.body, keyed.body)
    const input = route.read({ parts, request, tenantId, body })
    const fingerprints = fingerprintsOf(route.body, keyed)
    const reservation = {
      tenantId,
      id: randomUUIDv7(),
      key: keyed.key,
      firstSent: keyed.firstSent,
      fingerprint: fingerprints.fingerprint,
      validated: currentFingerprint(fingerprints),
      operation: route.operation,
      retentionSeconds: retentionOf(parts.settings, route.operation),
      expiredKeys: parts.settings.EXPIRED_KEYS,
    }
    const work = (tx: Transaction) => route.work(tx, input, tenantId)
    const completed = await doWithinLimits(parts, reservation, work).catch(
      async (error: unknown) => {
        throw await withTombstone(parts, reservation, error)
      },
    )

    refuseOtherRequest(completed, fingerprints)
    const { id, response } = completed
    if (response === null) throw new Error(`operation ${id} is completed without a response`)
    return replay(completed, response, id === reservation.id ? 'owner' : 'retry')
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
  await refuseShortKey(parts.settings, key, isKnown)
  return await storedKeys.within({ tenantId, most: parts.settings.MAX_STORED_KEYS }, isKnown, () =>
    storeBreaker.reserving(() => withinStoreTimeout(parts, doOnce(sql, reservation, work))),
  )
}
