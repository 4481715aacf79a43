// The statements by which clients act on idempotency keys: reserve, look up, reopen. One unique
// constraint decides who executes a key, and the intent is one statement.
import type { Tombstone } from '../../domain/idempotency/tombstone.ts'
import type {
  OperationRef,
  OperationStatus,
  StoredResponse,
} from '../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { insertEventOfChange } from '../events/event-records.ts'
import { enqueueReserved } from '../queue/jobs.ts'
import {
  tombstoneFromRow,
  findTombstone,
  KeyExpiredError,
  mayBeReserved,
  selectTombstone,
  type TombstoneRow,
  type ExpiredKeys,
} from './key-tombstones.ts'
import { insertStarted } from '../operations/phase-runs.ts'
import { seesTenant, seesTenants } from '../connection/row-security.ts'
import { isDivisionByZero } from '../connection/store-errors.ts'

/** What a client's request asks to be done once. */
export interface Intent extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: string
  readonly paymentId: string
  readonly refundId: string | null
  /** What no resource holds of what was asked for. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly retentionSeconds: number
  /** What a key gets that was used before and is forgotten; `new` unless it is said. */
  readonly expiredKeys?: ExpiredKeys
  /** The span that the work on it is a part of, when somebody records it. */
  readonly traceparent?: string | undefined
}

/** An idempotency key as its client may see it. */
export interface IdempotencyKey extends OperationRef {
  readonly key: string
  readonly fingerprint: Buffer
  readonly operation: string
  /** Null for a local operation. */
  readonly paymentId: string | null
  readonly refundId: string | null
  readonly status: OperationStatus
  readonly recoveryPoint: string
  readonly attempts: number
  readonly createdAt: Date
  readonly expiresAt: Date
  /** What the key had done before it expired, when this is not its first operation. */
  readonly earlier: Tombstone | null
  readonly response: StoredResponse | null
}

export interface KeyRow {
  tenant_id: string
  id: string
  key: string
  fingerprint: Buffer
  operation: string
  payment_id: string | null
  refund_id: string | null
  status: OperationStatus
  recovery_point: string
  attempts: number
  created_at: string
  expires_at: string
  earlier: TombstoneRow | null
  response_status: number | null
  response_headers: Record<string, string> | null
  response_body: string | null
}

export function keyFromRow(row: KeyRow): IdempotencyKey {
  const { response_status: status, response_headers: headers, response_body: body } = row
  return {
    tenantId: row.tenant_id,
    id: row.id,
    key: row.key,
    fingerprint: row.fingerprint,
    operation: row.operation,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    status: row.status,
    recoveryPoint: row.recovery_point,
    attempts: row.attempts,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    earlier: row.earlier && tombstoneFromRow(row.earlier),
    response:
      status === null || headers === null || body === null ? null : { status, headers, body },
  }
}

export const keyColumns = (sql: Sql | Transaction) => sql`
  tenant_id, id, key, fingerprint, operation, payment_id, refund_id, status, recovery_point,
  attempts, created_at, expires_at, earlier, response_status, response_headers, response_body
`

/** The resource is not in a state that allows the operation; nothing was written, the key included. */
export class IntentRefusedError extends Error {
  override name = 'IntentRefusedError'
}

/** A key, and the row of the resource that its reservation made or changed, when this was the one. */
export interface Reservation {
  readonly key: IdempotencyKey
  readonly resource: Readonly<Record<string, unknown>> | null
}

/** As `reserveIntentAndShow`, for whoever needs no more than the key. */
export async function reserveIntent(
  sql: Sql,
  reservation: Intent,
  resource: Fragment,
): Promise<IdempotencyKey> {
  return (await reserveWithResource(sql, reservation, resource)).key
}

/**
 * Reserves the key and writes the intent: the resource (the CTEs of `resource`, which select from
 * `reserved`), its event, the start of its timeline and the job, in one statement and so in one
 * transaction. When the key is taken, nothing is written and the row that holds it is returned;
 * whether the reservation won is told by the id. Running it again after a lost acknowledgment is safe.
 *
 * @throws IntentRefusedError when the key was free but `resource` changed or made nothing.
 * @throws KeyExpiredError when the key was used before and is not to be used again.
 */
export async function reserveWithResource(
  sql: Sql,
  reservation: Intent,
  resource: Fragment,
): Promise<Reservation> {
  try {
    const row = await insertIntent(sql, reservation, resource)
    if (row !== undefined) return { key: keyFromRow(row), resource: row.resource }
  } catch (error) {
    if (isDivisionByZero(error)) throw new IntentRefusedError('the intent was refused')
    throw error
  }
  return { key: await findReservedKey(sql, reservation), resource: null }
}

/**
 * Who has a key that was not to be had, and did not show. A rival whose reservation committed after the
 * snapshot of ours was taken is visible now.
 *
 * @throws KeyExpiredError when nobody has it, because it was used before and is not to be used again.
 */
export async function findReservedKey(
  sql: Sql,
  { tenantId, key }: Pick<Intent, 'tenantId' | 'key'>,
): Promise<IdempotencyKey> {
  const rival = await findIdempotencyKey(sql, tenantId, key)
  if (rival !== undefined) return rival
  const earlier = await findTombstone(sql, tenantId, key)
  if (earlier !== undefined) throw new KeyExpiredError(earlier)
  throw new Error('a key was taken and is gone; reserve it again')
}

async function insertIntent(
  sql: Sql,
  reservation: Intent,
  resource: Fragment,
): Promise<(KeyRow & Pick<Reservation, 'resource'>) | undefined> {
  const { tenantId, key, refundId, expiredKeys = 'new' } = reservation
  const kind = refundId === null ? 'payment' : 'refund'
  // The division by the number of resources undoes a reservation that has got none.
  const [row] = await sql<(KeyRow & Pick<Reservation, 'resource'>)[]>`
    with reserved as (
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, refund_id, parameters, job_id,
        expires_at, earlier
      )
      select
        ${tenantId}::uuid, ${reservation.id}::uuid, ${key}::text, ${reservation.fingerprint}::bytea,
        ${reservation.operation}::text, ${reservation.paymentId}::uuid, ${refundId}::uuid,
        ${JSON.stringify(reservation.parameters)}::jsonb, gen_random_uuid(),
        now() + ${reservation.retentionSeconds} * interval '1 second',
        (${selectTombstone(sql, tenantId, key)})
      where ${mayBeReserved(sql, expiredKeys, reservation)}
      on conflict (tenant_id, key) do nothing
      returning *
    ),
    ${resource},
    ${insertEventOfChange(sql, { cte: 'resource', kind }, key)},
    started as (${insertStarted(sql)}),
    job as (${enqueueReserved(sql, reservation.traceparent)})
    select
      ${keyColumns(sql)}, (select to_jsonb(resource) from resource) as resource,
      1 / (select count(*) from resource) as resources
    from reserved
    where ${seesTenant(sql, tenantId)}
    union all
    select ${keyColumns(sql)}, null, 1 from idempotency_keys
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and key = ${key}
      and not exists (select from reserved)
  `
  return row
}

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

/** Of the given operations, those that nobody works on any more: finished, failed or unknown. */
export async function findIdle(sql: Sql, refs: readonly OperationRef[]): Promise<IdempotencyKey[]> {
  const rows = await sql<KeyRow[]>`
    select ${keyColumns(sql)} from idempotency_keys
    where ${seesTenants(sql, refs)} and (tenant_id, id) in (
      -- Selected, because a plan for how many they are this time would be made each time.
      select * from unnest(
        (select ${refs.map((ref) => ref.tenantId)}::uuid[]), (select ${refs.map((ref) => ref.id)}::uuid[])
      )
    )
    and status not in ('pending', 'processing')
  `
  return rows.map(keyFromRow)
}

/**
 * Puts an operation that is proved to have done nothing back to work, for its client's retry. Of
 * several retries at once, one wins; the others get false.
 */
export async function reopenIfFailed(
  tx: Transaction,
  ref: OperationRef,
  traceparent?: string,
): Promise<boolean> {
  const { count } = await tx`
    with reserved as (
      update idempotency_keys
      set status = 'pending', attempts = 0, last_error = null, job_id = gen_random_uuid()
      where tenant_id = ${ref.tenantId} and id = ${ref.id} and status = 'failed_retryable'
      returning *
    )
    ${enqueueReserved(tx, traceparent)}
    where ${seesTenant(tx, ref.tenantId)}
  `
  return count === 1
}
