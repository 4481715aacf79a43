// Reserves, finds and reopens idempotency keys for clients. One unique constraint decides which
// request executes a key, and one statement writes the intent.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { insertEventOfChange } from '../events/event-records.ts'
import { enqueueReserved } from '../queue/jobs.ts'
import { keyColumns, keyFromRow, type IdempotencyKey, type KeyRow } from './idempotency-key-rows.ts'
import {
  findTombstone,
  KeyExpiredError,
  mayBeReserved,
  selectTombstone,
  type ExpiredKeys,
} from './key-tombstones.ts'
import { insertStarted } from '../operations/phase-runs.ts'
import { seesTenant, seesTenants } from '../connection/row-security.ts'
import { INTENT_REFUSED, isRaised } from '../connection/store-errors.ts'

/** An operation that a client requests. */
export interface Intent extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: string
  readonly paymentId: string
  readonly refundId: string | null
  /** Only for an operation on a dispute. */
  readonly disputeId?: string | null
  /** Parameters of the request that no resource stores. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly retentionSeconds: number
  /** What an expired key gets; `new` by default. */
  readonly expiredKeys?: ExpiredKeys
  /** The span of the request, when it is traced. */
  readonly traceparent?: string | undefined
}

/**
 * The state of the resource does not allow the operation. Nothing was written, not even the key.
 */
export class IntentRefusedError extends Error {
  override name = 'IntentRefusedError'
}

/**
 * A key, and the row of the resource that the reservation created or changed, if this request made
 * it.
 */
export interface Reservation {
  readonly key: IdempotencyKey
  readonly resource: Readonly<Record<string, unknown>> | null
}

/** Reserves like `reserveWithResource`, for callers that need only the key. */
export async function reserveIntent(
  sql: Sql,
  intent: Intent,
  resource: Fragment,
): Promise<IdempotencyKey> {
  return (await reserveWithResource(sql, intent, resource)).key
}

/**
 * Reserves the key and writes the intent: the resource (the CTEs of `resource`, which select from
 * `reserved`), its event, the first line of its timeline and the job, in one statement and so in
 * one transaction. When the key is already used, nothing is written and its row is returned: its id
 * tells whether this reservation won. Repeating it after a lost acknowledgment is safe.
 *
 * @throws IntentRefusedError when the key was free but `resource` created or changed no row.
 * @throws KeyExpiredError when the key has expired and must not be reused.
 */
export async function reserveWithResource(
  sql: Sql,
  intent: Intent,
  resource: Fragment,
): Promise<Reservation> {
  try {
    const row = await insertIntent(sql, intent, resource)
    if (row !== undefined) return { key: keyFromRow(row), resource: row.resource }
  } catch (error) {
    if (isRaised(error, INTENT_REFUSED)) throw new IntentRefusedError('the intent was refused')
    throw error
  }
  return { key: await findReservedKey(sql, intent), resource: null }
}

/** The part `resource` of an intent statement that is refused unless its key is already used. */
export function noResource(sql: Sql): Fragment {
  return sql`resource as (select *, null::text as previous_status from reserved where false)`
}

/**
 * Finds the key that prevented a reservation and was not in its result: a concurrent reservation
 * that committed after our snapshot is visible now.
 *
 * @throws KeyExpiredError when only the tombstone exists, and the key must not be reused.
 */
export async function findReservedKey(
  sql: Sql,
  { tenantId, key }: Pick<Intent, 'tenantId' | 'key'>,
): Promise<IdempotencyKey> {
  const existing = await findIdempotencyKey(sql, tenantId, key)
  if (existing !== undefined) return existing
  const earlier = await findTombstone(sql, tenantId, key)
  if (earlier !== undefined) throw new KeyExpiredError(earlier)
  throw new Error('the key was reserved, and deleted since; reserve it again')
}

async function insertIntent(
  sql: Sql,
  intent: Intent,
  resource: Fragment,
): Promise<(KeyRow & Pick<Reservation, 'resource'>) | undefined> {
  const { tenantId, key, refundId, disputeId = null, expiredKeys = 'new' } = intent
  const kind = disputeId !== null ? 'dispute' : refundId === null ? 'payment' : 'refund'
  // A reservation without a resource raises an error, which undoes the reservation.
  const [row] = await sql<(KeyRow & Pick<Reservation, 'resource'>)[]>`
    with reserved as (
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, refund_id, dispute_id, parameters,
        job_id, expires_at, earlier
      )
      select
        ${tenantId}::uuid, ${intent.id}::uuid, ${key}::text, ${intent.fingerprint}::bytea,
        ${intent.operation}::text, ${intent.paymentId}::uuid, ${refundId}::uuid,
        ${disputeId}::uuid, ${JSON.stringify(intent.parameters)}::jsonb, gen_random_uuid(),
        now() + ${intent.retentionSeconds} * interval '1 second',
        (${selectTombstone(sql, tenantId, key)})
      where ${mayBeReserved(sql, expiredKeys, intent)}
      on conflict (tenant_id, key) do nothing
      returning *
    ),
    ${resource},
    ${insertEventOfChange(sql, { cte: 'resource', kind }, key)},
    started as (${insertStarted(sql)}),
    job as (${enqueueReserved(sql, intent.traceparent)})
    select
      ${keyColumns(sql)}, (select to_jsonb(resource) from resource) as resource,
      case when exists (select from resource) then true else raise_intent_refused() end as accepted
    from reserved
    where ${seesTenant(sql, tenantId)}
    union all
    select ${keyColumns(sql)}, null, true from idempotency_keys
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and key = ${key}
      and not exists (select from reserved)
  `
  return row
}

/** Finds an idempotency key of a tenant. */
export async function findIdempotencyKey(
  sql: Sql,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey | undefined> {
  const [row] = await sql<KeyRow[]>`
    select ${keyColumns(sql)} from idempotency_keys
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and key = ${key}
  `
  return row && keyFromRow(row)
}

/** The idle ones among the given operations: completed, failed or unknown. */
export async function findIdle(sql: Sql, refs: readonly OperationRef[]): Promise<IdempotencyKey[]> {
  const rows = await sql<KeyRow[]>`
    select ${keyColumns(sql)} from idempotency_keys
    where ${seesTenants(sql, refs)} and (tenant_id, id) in (
      -- In subselects, because otherwise Postgres plans again for each number of elements.
      select * from unnest(
        (select ${refs.map((ref) => ref.tenantId)}::uuid[]), (select ${refs.map((ref) => ref.id)}::uuid[])
      )
    )
    and status not in ('pending', 'processing')
  `
  return rows.map(keyFromRow)
}

/**
 * Reopens an operation that is proved to have executed nothing, for its client's retry. One of
 * several concurrent retries wins; the others get false. If operators only stated that its call did
 * not happen, the time of the call is still there, and the call is in doubt again.
 */
export async function reopenIfFailed(
  tx: Transaction,
  ref: OperationRef,
  traceparent?: string,
): Promise<boolean> {
  const { count } = await tx`
    with reserved as (
      update idempotency_keys
      set status = 'pending', attempts = 0, last_error = null, job_id = gen_random_uuid(),
        in_doubt = (phase_began_at is not null)
      where tenant_id = ${ref.tenantId} and id = ${ref.id} and status = 'failed_retryable'
      returning *
    )
    ${enqueueReserved(tx, traceparent)}
    where ${seesTenant(tx, ref.tenantId)}
  `
  return count === 1
}
