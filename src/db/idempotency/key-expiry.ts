// Expires idempotency keys, for the reaper. Only completed keys are deleted, and only in two steps,
// so that a late retry always finds what the key created: first the tombstone is written, and the
// key is deleted when no statement can run any more that began before the tombstone existed.
//
// Two steps are needed because a reservation takes its snapshot, then waits for the delete of the
// same key to commit, then inserts. With one step its snapshot would be too old to show the
// tombstone, and it would silently execute the operation a second time. No statement runs longer
// than its timeout: the tombstone is committed one timeout after `buried_at` at the latest, and a
// reservation that finds the key deleted began one timeout before the delete at the earliest. Hence
// the tombstone must be twice the timeout old.
import type { KeyRetention } from '../../domain/idempotency/retention.ts'
import type { StoredResponse } from '../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { completedWith, isWithoutEffect, retentionOfRow } from './completion.ts'
import { keyHash } from './key-tombstones.ts'
import { seesEveryTenant } from '../connection/row-security.ts'

/** A position in the order in which keys expire. */
export interface ExpiryCursor {
  readonly expiresAt: string
  readonly tenantId: string
  readonly id: string
}

/** Before the first key. */
const FIRST_CURSOR: ExpiryCursor = {
  expiresAt: '-infinity',
  tenantId: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
}

/** A lookup for each key: the limit keeps Postgres from reading all tombstones for one batch. */
const tombstoneOfExpired = (sql: Sql): Fragment => sql`(
  select buried_at from key_tombstones
  where tenant_id = expired.tenant_id and key_hash = ${keyHash(sql, sql`expired.key`)} limit 1
) as tombstone`

export interface TombstoneBatch {
  /** The number of tombstones written. */
  readonly inserted: number
  /** Where the next batch starts; undefined when no expired key is left. */
  readonly next: ExpiryCursor | undefined
}

/**
 * Writes the tombstones of expired completed keys: looks at the next `limit` keys after the cursor.
 * The tombstone of an earlier operation of the same key is overwritten.
 */
export async function insertTombstones(
  sql: Sql,
  { limit, after = FIRST_CURSOR }: { limit: number; after?: ExpiryCursor | undefined },
): Promise<TombstoneBatch> {
  const [row] = await sql<{ looked_at: number; inserted: number; last: ExpiryCursor | null }[]>`
    with expired as materialized (
      select tenant_id, id, key, payment_id, refund_id, response_headers, expires_at
      from idempotency_keys
      where status = 'completed' and expires_at < now()
        and (expires_at, tenant_id, id)
          > (${after.expiresAt}::timestamptz, ${after.tenantId}::uuid, ${after.id}::uuid)
      order by expires_at, tenant_id, id
      limit ${limit}
    ),
    buried as materialized (
      select expired.tenant_id, expired.id
      from expired cross join lateral ${tombstoneOfExpired(sql)}
      where buried_at >= expired.expires_at
    ),
    inserted as (
      insert into key_tombstones (
        tenant_id, key_hash, payment_id, refund_id, location, expired_at
      )
      select
        tenant_id, ${keyHash(sql, sql`key`)}, payment_id, refund_id,
        case when payment_id is null then response_headers ->> 'location' end, expires_at
      from expired
      -- The conflict clause would skip existing tombstones too, but lock each of them.
      where (tenant_id, id) not in (select tenant_id, id from buried)
      order by expires_at, tenant_id, id
      on conflict (tenant_id, key_hash) do update set
        payment_id = excluded.payment_id,
        refund_id = excluded.refund_id,
        location = excluded.location,
        expired_at = excluded.expired_at,
        buried_at = now()
      where key_tombstones.buried_at < excluded.expired_at
      returning 1
    )
    select (select count(*)::int from expired) as looked_at,
      (select count(*)::int from inserted) as inserted,
      (
        select jsonb_build_object('expiresAt', expires_at::text, 'tenantId', tenant_id, 'id', id)
        from expired order by expires_at desc, tenant_id desc, id desc limit 1
      ) as last
    where ${seesEveryTenant(sql)}
  `
  if (row === undefined) throw new Error('a count returned no row')
  return {
    inserted: row.inserted,
    next: row.looked_at < limit ? undefined : (row.last ?? undefined),
  }
}

/**
 * Deletes expired completed keys whose own tombstone is old enough: looks at the `limit` that
 * expired first. Payments, refunds and their records stay.
 *
 * @param statementTimeoutMs the longest run of a statement, in any process.
 */
export async function deleteIfTombstoned(
  sql: Sql,
  { limit, statementTimeoutMs }: { limit: number; statementTimeoutMs: number },
): Promise<number> {
  const { count } = await sql`
    with expired as materialized (
      select tenant_id, id, key, expires_at
      from idempotency_keys
      where status = 'completed' and expires_at < now()
      order by expires_at
      limit ${limit}
    ),
    tombstoned as materialized (
      select expired.tenant_id, expired.id
      from expired cross join lateral ${tombstoneOfExpired(sql)}
      -- Only a tombstone of this operation of the key, not of an earlier one.
      where tombstone.buried_at >= expired.expires_at
        and tombstone.buried_at < now() - 2 * ${statementTimeoutMs} * interval '1 millisecond'
      order by expired.tenant_id, expired.id
    )
    delete from idempotency_keys
    using tombstoned
    where ${seesEveryTenant(sql)}
      and idempotency_keys.tenant_id = tombstoned.tenant_id and idempotency_keys.id = tombstoned.id
      and idempotency_keys.status = 'completed' and idempotency_keys.expires_at < now()
  `
  return count
}

/** `phase_began_at` is the time of a call that only operators said did not happen. */
const hasNoEffect = (sql: Sql): Fragment => sql`
  status = 'failed_retryable' and ${isWithoutEffect(sql)} and phase_began_at is null
  and expires_at < now()
`

const mayHaveEffect = (sql: Sql | Transaction): Fragment => sql`
  status = 'failed_retryable' and (not ${isWithoutEffect(sql)} or phase_began_at is not null)
  and expires_at < now()
`

/**
 * Completes operations that failed before any effect and whose clients did not retry in time. The
 * stored response tells a late retry. Their resources stay as they are.
 */
export async function timeOutIfAbandoned(
  sql: Sql,
  response: StoredResponse,
  { limit, retention }: { limit: number; retention: KeyRetention },
): Promise<number> {
  const { count } = await sql`
    update idempotency_keys set ${completedWith(sql, response, retention)}
    where ${seesEveryTenant(sql)} and (tenant_id, id) in (
      select tenant_id, id from idempotency_keys
      where ${hasNoEffect(sql)}
      order by expires_at
      limit ${limit}
    )
    and ${hasNoEffect(sql)}
  `
  return count
}

/**
 * Completes operations that stopped half-way, and whose payment another operation has ended since:
 * they can never run again.
 */
export async function completeIfOvertaken(
  sql: Sql,
  response: StoredResponse,
  { limit, retention }: { limit: number; retention: KeyRetention },
): Promise<number> {
  const { count } = await sql`
    update idempotency_keys set ${completedWith(sql, response, retention)}
    where ${seesEveryTenant(sql)} and (tenant_id, id) in (
      select tenant_id, id from idempotency_keys
      where ${isPartlyExecuted(sql)} and ${isOvertaken(sql)}
      order by expires_at
      limit ${limit}
    )
    and ${isPartlyExecuted(sql)}
  `
  return count
}

const isPartlyExecuted = (sql: Sql | Transaction): Fragment => sql`
  status = 'failed_retryable' and not ${isWithoutEffect(sql)} and expires_at < now()
`

/** Neither status changes. The operation of a declined payment may still have to cancel it. */
const isOvertaken = (sql: Sql | Transaction): Fragment => sql`
  exists (
    select from payments
    where payments.tenant_id = idempotency_keys.tenant_id
      and payments.id = idempotency_keys.payment_id
      and payments.status in ('succeeded', 'canceled')
  )
`

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
  return await tx<AbandonedOperation[]>`
    with kept as (
      update idempotency_keys
      set expires_at = now() + ${retentionOfRow(tx, retention)} * interval '1 second'
      where (tenant_id, id) in (
        select tenant_id, id from idempotency_keys
        where ${mayHaveEffect(tx)} and not (${isPartlyExecuted(tx)} and ${isOvertaken(tx)})
        order by expires_at
        limit ${limit}
      )
      and ${mayHaveEffect(tx)}
      returning *
    )
    select
      kept.tenant_id as "tenantId", kept.id, kept.operation, kept.payment_id as "paymentId",
      kept.refund_id as "refundId", kept.recovery_point as "recoveryPoint",
      kept.last_error as reason, payments.provider
    from kept
    join payments on payments.tenant_id = kept.tenant_id and payments.id = kept.payment_id
    where ${seesEveryTenant(tx)}
  `
}
