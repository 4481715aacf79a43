// Expires idempotency keys, for the reaper. A completed key leaves a tombstone in the transaction that deletes
// it, so that a late retry always finds what the key created. A reservation waits for the delete of its key,
// and reads the tombstone in a statement behind its insert: see reserve-keys.ts.
import { hash } from 'node:crypto'
import type { KeyRetention } from '../../domain/idempotency/retention.ts'
import {
  pointsWithoutEffect,
  type OperationRef,
  type StoredResponse,
} from '../../domain/operations/operation.ts'
import { RESPONSE_VERSION } from '../../domain/operations/stored-response.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { forEachTenant, rowsOf } from '../connection/rows.ts'
import { asService, inService } from '../connection/transaction.ts'

/**
 * Deletes expired completed keys, the `limit` that expired first, and leaves their tombstones. The tombstone
 * of an earlier operation of the same key is overwritten. Payments, refunds and their records stay. Returns
 * the number of deleted keys.
 */
export async function deleteExpiredKeys(sql: Sql, limit: number): Promise<number> {
  return await inService(sql, async (tx) => {
    const expired = await tx<OperationRef[]>`
      select tenant_id as "tenantId", id from idempotency_keys
      where status = 'completed' and expires_at < now()
      order by expires_at, tenant_id, id
      limit ${limit}
    `
    const counts = await forEachTenant(expired, async (tenantId, refs) => {
      const keys = await deleteIfExpired(tx, tenantId, refs)
      await insertTombstones(tx, tenantId, keys)
      return keys.length
    })
    return counts.reduce((sum, count) => sum + count, 0)
  })
}

interface DeletedKey {
  readonly key: string
  readonly paymentId: string | null
  readonly refundId: string | null
  readonly location: string | null
  readonly expired_at: string
}

async function deleteIfExpired(
  tx: Transaction,
  tenantId: string,
  refs: readonly OperationRef[],
): Promise<DeletedKey[]> {
  return await tx<DeletedKey[]>`
    delete from idempotency_keys
    where tenant_id = ${tenantId} and id = any(${refs.map(({ id }) => id)}::uuid[])
      and status = 'completed' and expires_at < now()
    returning
      key, payment_id as "paymentId", refund_id as "refundId", expires_at as expired_at,
      case when payment_id is null then response_headers ->> 'location' end as location
  `
}

async function insertTombstones(
  tx: Transaction,
  tenantId: string,
  keys: readonly DeletedKey[],
): Promise<void> {
  if (keys.length === 0) return
  const tombstones = keys.map(({ key, ...deleted }) => ({
    tenantId,
    keyHash: hash('sha256', key, 'buffer'),
    ...deleted,
  }))
  await tx`
    insert into key_tombstones ${rowsOf(tx, tombstones)}
    on conflict (tenant_id, key_hash) do update set
      payment_id = excluded.payment_id,
      refund_id = excluded.refund_id,
      location = excluded.location,
      expired_at = excluded.expired_at,
      buried_at = excluded.buried_at
  `
}

/** Whether no call was recorded as executed. One may still be in doubt. */
export const isWithoutEffect = (sql: Sql | Transaction): Fragment =>
  sql`recovery_point = any(${[...pointsWithoutEffect]}::text[])`

/** A part of an update of `idempotency_keys`: the seconds for which the key is kept, by its operation. */
function retentionOfRow(
  sql: Sql | Transaction,
  { KEY_RETENTION_SECONDS: seconds, KEY_RETENTION_SECONDS_BY_OPERATION: own = {} }: KeyRetention,
): Fragment {
  return sql`coalesce(
    (${JSON.stringify(own)}::jsonb ->> operation)::float8, ${seconds}::float8
  )`
}

/** Sets the final response, and starts the retention. */
export function completedWith(
  sql: Sql | Transaction,
  response: StoredResponse,
  retention: KeyRetention,
): Fragment {
  return sql`
    status = 'completed', recovery_point = 'finished',
    response_version = ${RESPONSE_VERSION}, response_status = ${response.status},
    response_headers = ${JSON.stringify(response.headers)}::jsonb,
    response_body = ${response.body},
    finished_at = now(),
    expires_at = now() + ${retentionOfRow(sql, retention)} * interval '1 second'
  `
}

/** Operations that failed and whose clients did not retry in time. */
const isAbandoned = (sql: Sql | Transaction): Fragment =>
  sql`status = 'failed_retryable' and expires_at < now()`

/** `phase_began_at` is the time of a call that only operators said did not happen. */
const hasNoEffect = (sql: Sql | Transaction): Fragment =>
  sql`${isAbandoned(sql)} and ${isWithoutEffect(sql)} and phase_began_at is null`

const mayHaveEffect = (sql: Sql | Transaction): Fragment =>
  sql`${isAbandoned(sql)} and (not ${isWithoutEffect(sql)} or phase_began_at is not null)`

const isPartlyExecuted = (sql: Sql | Transaction): Fragment =>
  sql`${isAbandoned(sql)} and not ${isWithoutEffect(sql)}`

/** Neither status changes. The operation of a declined payment may still have to cancel it. */
const isOvertaken = (sql: Sql | Transaction): Fragment => sql`
  exists (
    select from payments
    where payments.tenant_id = idempotency_keys.tenant_id
      and payments.id = idempotency_keys.payment_id
      and payments.status in ('succeeded', 'canceled')
  )
`

interface Reaping {
  readonly limit: number
  readonly retention: KeyRetention
}

/**
 * Completes operations that failed before any effect and whose clients did not retry in time. The
 * stored response tells a late retry. Their resources stay as they are.
 */
export function timeOutIfAbandoned(
  sql: Sql,
  response: StoredResponse,
  reaping: Reaping,
): Promise<number> {
  return completeIf(sql, hasNoEffect(sql), hasNoEffect(sql), response, reaping)
}

/**
 * Completes operations that stopped half-way, and whose payment another operation has ended since:
 * they can never run again.
 */
export function completeIfOvertaken(
  sql: Sql,
  response: StoredResponse,
  reaping: Reaping,
): Promise<number> {
  const found = sql`${isPartlyExecuted(sql)} and ${isOvertaken(sql)}`
  return completeIf(sql, found, isPartlyExecuted(sql), response, reaping)
}

async function completeIf(
  sql: Sql,
  found: Fragment,
  still: Fragment,
  response: StoredResponse,
  { limit, retention }: Reaping,
): Promise<number> {
  const { count } = await asService(sql)`
    update idempotency_keys set ${completedWith(sql, response, retention)}
    where (tenant_id, id) in (
      select tenant_id, id from idempotency_keys where ${found} order by expires_at limit ${limit}
    )
    and ${still}
  `
  return count
}

/** An operation that stopped half-way and that no client retried. */
export interface AbandonedOperation {
  readonly tenantId: string
  readonly id: string
  readonly operation: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly recoveryPoint: string
  readonly reason: string | null
  readonly provider: string
}

/**
 * Extends the retention of operations that stopped half-way, and returns them: only their client or
 * a person can decide about them. So each is reported once per retention, and does not block the
 * deletion of others.
 */
export async function keepIfPartlyExecuted(
  tx: Transaction,
  { limit, retention }: { limit: number; retention: KeyRetention },
): Promise<AbandonedOperation[]> {
  const kept = await tx<Omit<AbandonedOperation, 'provider'>[]>`
    update idempotency_keys
    set expires_at = now() + ${retentionOfRow(tx, retention)} * interval '1 second'
    where (tenant_id, id) in (
      select tenant_id, id from idempotency_keys
      where ${mayHaveEffect(tx)} and not (${isPartlyExecuted(tx)} and ${isOvertaken(tx)})
      order by expires_at
      limit ${limit}
    )
    and ${mayHaveEffect(tx)}
    returning
      tenant_id as "tenantId", id, operation, payment_id as "paymentId",
      refund_id as "refundId", recovery_point as "recoveryPoint", last_error as reason
  `
  if (kept.length === 0) return []
  const payments = await tx<{ id: string; provider: string }[]>`
    select id, provider from payments
    where tenant_id = any(${kept.map(({ tenantId }) => tenantId)}::uuid[])
      and id = any(${kept.map(({ paymentId }) => paymentId)}::uuid[])
  `
  const providerOf = new Map(payments.map(({ id, provider }) => [id, provider]))
  return kept.map((operation) => ({
    ...operation,
    provider: providerOf.get(operation.paymentId) ?? '',
  }))
}
