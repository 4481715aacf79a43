// The statements by which an operation that calls nobody is accepted, done and answered in one
// transaction. The same unique constraint as for every other key decides who executes it.
import type { LocalOperation, OperationRef, StoredResponse } from '../domain/operation.ts'
import type { Sql, Transaction } from './client.ts'
import { findIdempotencyKey, type IdempotencyKey } from './idempotency-keys.ts'
import { inTransaction } from './transaction.ts'

/** What a client's request asks to be done once. */
export interface LocalReservation extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: LocalOperation
  readonly retentionSeconds: number
}

/**
 * Reserves the key, does the work and stores its response, all or nothing. When the key is taken, the
 * work is not done, and the row that holds the key is returned; one that another request is about to
 * write is waited for. Whether the reservation won is told by the id.
 *
 * @param work awaits nothing but statements of the transaction. What it throws rolls everything back,
 *   the reservation included, and is thrown on.
 */
export async function doOnce(
  sql: Sql,
  reservation: LocalReservation,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const { tenantId, key } = reservation
  await inTransaction(sql, async (tx) => {
    if (!(await reserveIfFree(tx, reservation))) return
    await complete(tx, reservation, await work(tx))
  })
  const row = await findIdempotencyKey(sql, tenantId, key)
  if (row === undefined) throw new Error('a key was taken and is gone; reserve it again')
  return row
}

async function reserveIfFree(tx: Transaction, reservation: LocalReservation): Promise<boolean> {
  const { count } = await tx`
    insert into idempotency_keys (tenant_id, id, key, fingerprint, operation, expires_at)
    values (
      ${reservation.tenantId}, ${reservation.id}, ${reservation.key}, ${reservation.fingerprint},
      ${reservation.operation}, now() + ${reservation.retentionSeconds} * interval '1 second'
    )
    on conflict (tenant_id, key) do nothing
  `
  return count === 1
}

async function complete(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  response: StoredResponse,
): Promise<void> {
  await tx`
    update idempotency_keys set
      status = 'completed',
      recovery_point = 'finished',
      response_status = ${response.status},
      response_headers = ${JSON.stringify(response.headers)}::jsonb,
      response_body = ${response.body},
      finished_at = now()
    where tenant_id = ${tenantId} and id = ${id}
  `
}
