// Executes local operations: an operation without a provider call is reserved, executed and
// answered in one transaction. The unique constraint on idempotency keys decides which request
// executes it.
import type {
  LocalOperation,
  OperationRef,
  StoredResponse,
} from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { responseBody } from '../../encryption/encryption.ts'
import {
  findReservedKey,
  keyColumns,
  keyFromRow,
  type IdempotencyKey,
  type KeyRow,
} from './idempotency-keys.ts'
import { reserveKeys, type KeyRequest } from './reserve-keys.ts'
import { inTenant } from '../connection/transaction.ts'

/** A local operation that a client requests. */
export interface LocalReservation extends KeyRequest {
  readonly operation: LocalOperation
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
  reservation: LocalReservation,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const row = await inTenant(sql, reservation.tenantId, async (tx) => {
    const [reserved] = await reserveKeys(tx, reservation.tenantId, [reservation])
    if (reserved === undefined) return undefined
    return await complete(tx, reservation, await work(tx))
  })
  return row === undefined ? await findReservedKey(sql, reservation) : keyFromRow(row)
}

async function complete(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  response: StoredResponse,
): Promise<KeyRow | undefined> {
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
}
