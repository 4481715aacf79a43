// Serves keyed requests whose operation makes no provider call. One transaction reserves the key,
// does the work and stores the response, so that there is no state between accepted and completed.
import type { z } from 'zod'
import type { Transaction } from '../../db/connection/client.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import { doOnce, type LocalReservation } from '../../db/idempotency/local-operations.ts'
import type { LocalOperation, StoredResponse } from '../../domain/operations/operation.ts'
import type { Scope } from '../../domain/tenants/api-key.ts'
import type { BodyContract, Contract, Endpoints } from '../contracts/contract.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'
import { validateBody } from '../requests/validate-body.ts'
import { tenant } from '../server/route.ts'
import { observeReservations, refuseOtherRequest, replay, withTombstone } from './keyed-answer.ts'
import {
  fingerprintsOf,
  newKey,
  readKeyedRequest,
  withinKeyLimits,
  type KeyedRequest,
} from './keyed-request.ts'

/** Describes one local operation, and what openapi.yaml says about it. */
interface LocalRoute<Body extends z.ZodObject, Input> extends Contract {
  readonly operation: LocalOperation
  readonly scope: Scope
  readonly body: BodyContract & { readonly schema: Body }
  /**
   * Reads the request with its validated body, without reading the store. Throws ProblemError for an
   * invalid request.
   */
  readonly read: (request: Omit<KeyedRequest, 'body'> & { readonly body: z.output<Body> }) => Input
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
export function keyedLocally<Body extends z.ZodObject, Input>({
  operation,
  scope,
  read,
  work,
  ...contract
}: LocalRoute<Body, Input>): Endpoints[string] {
  const { body } = contract
  const endpoint = observeReservations(async (parts, request, tenantId) => {
    const keyed = await readKeyedRequest(parts, request, tenantId, body)
    const input = read({ ...keyed, body: validateBody(body.schema, keyed.body) })
    const fingerprints = fingerprintsOf(body.schema, keyed)
    const reservation = newKey(keyed, operation, fingerprints)
    const completed = await doWithinLimits(parts, reservation, (tx) => work(tx, input, tenantId))
    refuseOtherRequest(completed, fingerprints)
    const { id, response } = completed
    if (response === null) throw new Error(`operation ${id} is completed without a response`)
    return replay(completed, response, id === reservation.id ? 'owner' : 'retry')
  })
  return { ...contract, keyed: 'local', serve: tenant(endpoint, scope) }
}

/** Reserves the key, unless the tenant has too many, and does the work. See `doOnce`. */
export async function doWithinLimits(
  parts: ApiParts,
  reservation: LocalReservation,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const reserve = () => withinStoreTimeout(parts, doOnce(parts.store.sql, reservation, work))
  try {
    return await withinKeyLimits(parts, reservation, () =>
      parts.limits.storeBreaker.reserving(reserve),
    )
  } catch (error) {
    throw await withTombstone(parts, reservation, error)
  }
}
