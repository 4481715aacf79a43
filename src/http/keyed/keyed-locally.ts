// The contract of keyed requests for operations that call nobody: the key is reserved, the work done and
// the response stored in one transaction, so that there is no state between accepted and answered.
import { randomUUIDv7 } from 'node:crypto'
import type { Transaction } from '../../db/connection/client.ts'
import { doOnce } from '../../db/idempotency/local-operations.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { LocalOperation, StoredResponse } from '../../domain/operations/operation.ts'
import { withTombstone } from './tombstone-headers.ts'
import { withinStoreTimeout, type TenantEndpoint } from '../endpoint.ts'
import { expiry, replay } from './keyed-answer.ts'
import type { KeyedRequestParts } from './keyed-endpoint.ts'
import { readKeyedRequest } from './keyed-intent.ts'
import { observeReservations } from './observe-reservations.ts'

/** What sets one local operation apart from the others. */
export interface LocalRoute<Input> {
  readonly operation: LocalOperation
  /** A request without a body is one with an empty object. */
  readonly mayOmitBody?: boolean
  /** Reads what is asked for, and nothing of the store. Throws ProblemError for what is not taken. */
  readonly read: (request: KeyedRequestParts) => Input
  /**
   * Does it, with statements of the transaction alone, and renders the final answer. What it throws
   * leaves nothing behind, and the key unused.
   */
  readonly work: (tx: Transaction, input: Input, tenantId: string) => Promise<StoredResponse>
}

/**
 * An endpoint that does its work once for each key. A retry gets the stored response byte for byte; one
 * that comes while the first is still at it waits for that, which takes no longer than a statement.
 */
export function keyedLocally<Input>(route: LocalRoute<Input>): TenantEndpoint {
  return observeReservations(async (parts, request, tenantId) => {
    const keyed = await readKeyedRequest({ mayOmit: route.mayOmitBody ?? false }, parts, request)
    const { key, body } = keyed
    const input = route.read({ parts, request, tenantId, body })
    const fingerprint = keyed.fingerprint()
    const reservation = {
      tenantId,
      id: randomUUIDv7(),
      key,
      fingerprint,
      operation: route.operation,
      retentionSeconds: parts.settings.KEY_RETENTION_SECONDS,
      expiredKeys: parts.settings.EXPIRED_KEYS,
    }
    const work = (tx: Transaction) => route.work(tx, input, tenantId)
    const done = await parts.limits.storeBreaker
      .reserving(() => withinStoreTimeout(parts, doOnce(parts.store.sql, reservation, work)))
      .catch(async (error: unknown) => {
        throw await withTombstone(parts, reservation, error)
      })

    if (!done.fingerprint.equals(fingerprint)) {
      throw new ProblemError('idempotency-key-reused', { headers: expiry(done) })
    }
    if (done.response === null) throw new Error(`operation ${done.id} is done without a response`)
    const answer = replay(done.response, done.id === reservation.id ? 'owner' : 'retry')
    return { ...answer, headers: { ...expiry(done), ...answer.headers } }
  })
}
