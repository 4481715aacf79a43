// Serves keyed requests whose operation makes no provider call. One transaction reserves the key,
// does the work and stores the response, so that there is no state between accepted and completed.
import type { z } from 'zod'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { inTenant } from '../../db/connection/transaction.ts'
import {
  findReservedKey,
  keyColumns,
  keyFromRow,
  type IdempotencyKey,
  type KeyRow,
} from '../../db/idempotency/idempotency-keys.ts'
import { reserveKeys, type RequestedKey } from '../../db/idempotency/reserve-keys.ts'
import type { LocalOperation, StoredResponse } from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Scope } from '../../domain/tenants/api-key.ts'
import { responseBody } from '../../encryption/encryption.ts'
import type { BodyContract, Contract, Endpoints } from '../contracts/contract.ts'
import { withinStoreTimeout, type TenantParts, tenant } from '../endpoint.ts'
import { validateBody } from '../requests/validate-body.ts'
import {
  observeReservations,
  refuseOtherRequest,
  replay,
  errorWithTombstone,
} from './keyed-answer.ts'
import {
  fingerprintsOf,
  requestedKeyOf,
  readKeyedRequest,
  withinKeyLimits,
  type KeyedRequest,
} from './keyed-request.ts'

/** A local operation that a client requests. */
export interface LocalRequest extends RequestedKey {
  readonly operation: LocalOperation
}

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
    const reservation = requestedKeyOf(keyed, operation, fingerprints)
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
  parts: TenantParts,
  reservation: LocalRequest,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const reserve = () => withinStoreTimeout(parts, doOnce(parts.store.sql, reservation, work))
  try {
    return await withinKeyLimits(parts, reservation, () =>
      parts.limits.storeBreaker.reserving(reserve),
    )
  } catch (error) {
    throw await errorWithTombstone(parts, reservation, error)
  }
}

/**
 * Reserves the key, does the work and stores its response, all or nothing. When the key is already
 * used, the work is not done, and its row is returned; the insert waits for a concurrent
 * transaction with the same key. The id of the row tells whether this reservation won.
 *
 * @param work awaits only statements of the transaction. Its errors roll everything back, including
 *   the reservation, and are rethrown.
 * @throws KeyExpiredError when the key has expired and must not be reused.
 * @throws FirstSentRefusedError when its deleted key may have been used by the same request.
 */
export async function doOnce(
  sql: Sql,
  reservation: LocalRequest,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const { tenantId, id } = reservation
  const completed = await inTenant(sql, tenantId, async (tx) => {
    const [reserved] = await reserveKeys(tx, tenantId, [reservation])
    if (reserved === undefined) return undefined
    const response = await work(tx)
    const [row] = await tx<KeyRow[]>`
      update idempotency_keys set
        status = 'completed',
        recovery_point = 'finished',
        response_version = ${RESPONSE_VERSION},
        response_status = ${response.status},
        response_headers = ${JSON.stringify(response.headers)}::jsonb,
        response_body = ${responseBody.encrypt({ tenantId, id }, response.body)},
        finished_at = now()
      where tenant_id = ${tenantId} and id = ${id}
      returning ${keyColumns(tx)}
    `
    return row
  })
  return completed ? keyFromRow(completed) : await findReservedKey(sql, reservation)
}
