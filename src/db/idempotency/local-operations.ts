// The statements by which an operation that calls nobody is accepted, done and answered in one
// transaction. The same unique constraint as for every other key decides who executes it.
import type {
  LocalOperation,
  OperationRef,
  StoredResponse,
} from '../../domain/operations/operation.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import {
  findReservedKey,
  keyColumns,
  keyFromRow,
  type IdempotencyKey,
  type KeyRow,
} from './idempotency-keys.ts'
import { mayBeReserved, selectTombstone, type ExpiredKeys } from './key-tombstones.ts'
import { seesTenant } from '../connection/row-security.ts'
import { inTransaction } from '../connection/transaction.ts'

/** What a client's request asks to be done once. */
export interface LocalReservation extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: LocalOperation
  readonly retentionSeconds: number
  readonly expiredKeys: ExpiredKeys
}

/**
 * Reserves the key, does the work and stores its response, all or nothing. When the key is taken, the
 * work is not done, and the row that holds the key is returned; one that another request is about to
 * write is waited for. Whether the reservation won is told by the id.
 *
 * @param work awaits nothing but statements of the transaction. What it throws rolls everything back,
 *   the reservation included, and is thrown on.
 * @throws KeyExpiredError when the key was used before and is not to be used again.
 */
export async function doOnce(
  sql: Sql,
  reservation: LocalReservation,
  work: (tx: Transaction) => Promise<StoredResponse>,
): Promise<IdempotencyKey> {
  const done = await inTransaction(sql, async (tx) => {
    const holder = await reserveOrFind(tx, reservation)
    if (holder?.id !== reservation.id) return holder
    return await complete(tx, reservation, await work(tx))
  })
  return done === undefined ? await findReservedKey(sql, reservation) : keyFromRow(done)
}

/** The row that holds the key now. None: a rival's is too young to be seen, or the key has expired. */
async function reserveOrFind(
  tx: Transaction,
  reservation: LocalReservation,
): Promise<KeyRow | undefined> {
  const { tenantId, id, key, expiredKeys } = reservation
  const [row] = await tx<KeyRow[]>`
    with reserved as (
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, expires_at, earlier
      )
      select
        ${tenantId}::uuid, ${id}::uuid, ${key}::text, ${reservation.fingerprint}::bytea,
        ${reservation.operation}::text,
        now() + ${reservation.retentionSeconds} * interval '1 second',
        (${selectTombstone(tx, tenantId, key)})
      where ${mayBeReserved(tx, expiredKeys, reservation)}
      on conflict (tenant_id, key) do nothing
      returning *
    )
    select ${keyColumns(tx)} from reserved where ${seesTenant(tx, tenantId)}
    union all
    select ${keyColumns(tx)} from idempotency_keys
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and key = ${key}
      and not exists (select from reserved)
  `
  return row
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
      response_status = ${response.status},
      response_headers = ${JSON.stringify(response.headers)}::jsonb,
      response_body = ${response.body},
      finished_at = now()
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and id = ${id}
    returning ${keyColumns(tx)}
  `
  return row
}
