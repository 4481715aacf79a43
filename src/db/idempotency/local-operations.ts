// Executes local operations: an operation without a provider call is reserved, executed and
// answered in one transaction. The unique constraint on idempotency keys decides which request
// executes it.
import type { ValidatedFingerprint } from '../../domain/idempotency/fingerprint.ts'
import type {
  LocalOperation,
  OperationRef,
  StoredResponse,
} from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { expectOwn } from '../connection/pool/own-answers.ts'
import { responseBody } from '../encryption/encrypted-values.ts'
import { mayBeFirst } from './first-sent.ts'
import { findReservedKey } from './idempotency-keys.ts'
import { keyColumns, keyFromRow, type IdempotencyKey, type KeyRow } from './idempotency-key-rows.ts'
import { selectTombstone, type ExpiredKeys } from './key-tombstones.ts'
import { seesTenant } from '../connection/row-security.ts'
import { inTransaction } from '../connection/transaction.ts'

/** A local operation that a client requests. */
export interface LocalReservation extends OperationRef {
  readonly key: string
  /** When the client sent the request for the first time, if it says so. */
  readonly firstSent?: Date | undefined
  readonly fingerprint: Buffer
  readonly validated?: ValidatedFingerprint
  readonly operation: LocalOperation
  readonly retentionSeconds: number
  readonly expiredKeys: ExpiredKeys
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
  const row = await inTransaction(sql, async (tx) => {
    if (!(await reserveIfFree(tx, reservation))) return undefined
    return await complete(tx, reservation, await work(tx))
  })
  if (row === undefined) return await findReservedKey(sql, reservation)
  const { tenantId, key } = reservation
  expectOwn(sql, [row], (own) => own.tenant_id === tenantId && own.key === key)
  return keyFromRow(row)
}

/** Returns false when the key is used, or when it has expired and must not be used again. */
async function reserveIfFree(tx: Transaction, reservation: LocalReservation): Promise<boolean> {
  const { tenantId, id, key, validated, expiredKeys } = reservation
  const tombstone = selectTombstone(tx, tx`${tenantId}`, tx`${key}::text`)
  const firstSent = reservation.firstSent?.toISOString() ?? null
  const timely = mayBeFirst(
    tx,
    tx`${firstSent}::timestamptz`,
    tx`${reservation.retentionSeconds}::float8`,
    tombstone,
  )
  const { count } = await tx`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, fingerprint_version, validated_fingerprint, operation,
      expires_at, earlier
    )
    select
      ${tenantId}::uuid, ${id}::uuid, ${key}::text, ${reservation.fingerprint}::bytea,
      ${validated?.version ?? 1}::smallint, ${validated?.fingerprint ?? null}::bytea,
      ${reservation.operation}::text,
      now() + ${reservation.retentionSeconds} * interval '1 second',
      (${tombstone})
    where ${seesTenant(tx, tenantId)}
      and (${expiredKeys === 'new'} or not exists (${tombstone}))
      and ${timely}
    on conflict (tenant_id, key) do nothing
  `
  return count === 1
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
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and id = ${id}
    returning ${keyColumns(tx)}
  `
  return row
}
