// The reaper: deletes completed keys after their retention period, and ends operations that were
// given up and never retried. It leaves payments, refunds, the ledger and timelines alone, and makes
// no provider call. A completed key leaves a tombstone in the transaction that deletes it, so that a late
// retry always finds what the key created. A reservation waits for the delete of its key, and reads the
// tombstone in a statement behind its insert: docs/decisions/0027-tombstone-with-deletion.md.
import { hash } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import { forEachTenant, rowsOf } from '../db/connection/rows.ts'
import { asService, inService } from '../db/connection/transaction.ts'
import { completedWith, isWithoutEffect, retentionOfRow } from '../db/idempotency/cancellations.ts'
import { openFindings } from '../db/operations/findings.ts'
import type { TombstoneRow } from '../db/schema/idempotency-keys.ts'
import type { KeyRetention } from '../domain/idempotency/idempotency-key.ts'
import type { OperationRef, StoredResponse } from '../domain/operations/operation.ts'
import { problemResponse } from '../domain/operations/stored-response.ts'
import { showId } from '../domain/resource-id.ts'
import type { Engine } from '../engine/engine.ts'
import { inFullBatches } from './full-batches.ts'

export type ReaperSettings = KeyRetention &
  Pick<Config, 'TOMBSTONE_RETENTION_SECONDS' | 'REAP_BATCH_SIZE' | 'IDEMPOTENCY_FLAVOR'>

/** Runs one round. Concurrent rounds, in this and in other processes, are harmless. */
export async function reap(
  { store: { sql }, log }: Pick<Engine, 'store' | 'log'>,
  settings: ReaperSettings,
) {
  const limit = settings.REAP_BATCH_SIZE
  const { IDEMPOTENCY_FLAVOR: flavor } = settings
  const timeout = problemResponse(flavor, 'operation-timed-out')
  const overtaken = problemResponse(flavor, 'invalid-state', 'Another request ended the payment.')
  const reaping = { limit, retention: settings }
  const old = { limit, retentionSeconds: settings.TOMBSTONE_RETENTION_SECONDS }
  const report = async () => {
    const kept = await inService(sql, (tx) => reportAbandoned(tx, reaping))
    for (const { id } of kept)
      log.warn({ operation: id }, 'given up half-way or in doubt, and never retried')
    return kept.length
  }
  return {
    timed_out: await inFullBatches(limit, () => timeOutIfAbandoned(sql, timeout, reaping)),
    overtaken: await inFullBatches(limit, () => completeIfOvertaken(sql, overtaken, reaping)),
    abandoned: await inFullBatches(limit, report),
    reaped: await inFullBatches(limit, () => deleteExpiredKeys(sql, limit)),
    tombstones_deleted: await inFullBatches(limit, () => deleteOldTombstones(sql, old)),
  }
}

interface Reaping {
  readonly limit: number
  readonly retention: KeyRetention
}

/** Operations that failed and whose clients did not retry in time. */
const isAbandoned = (sql: Sql | Transaction): Fragment =>
  sql`status = 'failed_retryable' and expires_at < now()`

/** `phase_began_at` is the time of a call whose absence is not proved. */
const wasNeverBegun = (sql: Sql | Transaction): Fragment =>
  sql`${isAbandoned(sql)} and ${isWithoutEffect(sql)} and phase_began_at is null`

const stoppedInDoubt = (sql: Sql | Transaction): Fragment =>
  sql`${isAbandoned(sql)} and (not ${isWithoutEffect(sql)} or phase_began_at is not null)`

const stoppedHalfWay = (sql: Sql | Transaction): Fragment =>
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

/**
 * Completes operations that failed before any effect and whose clients did not retry in time. The
 * stored response tells a late retry. Their resources stay as they are.
 */
export function timeOutIfAbandoned(
  sql: Sql,
  response: StoredResponse,
  reaping: Reaping,
): Promise<number> {
  return completeIf(sql, wasNeverBegun(sql), wasNeverBegun(sql), response, reaping)
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
  const found = sql`${stoppedHalfWay(sql)} and ${isOvertaken(sql)}`
  return completeIf(sql, found, stoppedHalfWay(sql), response, reaping)
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

type KeptRow = OperationRef & {
  readonly paymentId: string
  readonly refundId: string | null
  readonly operation: string
  readonly recovery_point: string
  readonly reason: string | null
}

/**
 * Extends the retention of operations that stopped half-way or in doubt, and opens a finding about each:
 * only their client or a person can decide about them. So each is reported once per retention, and does
 * not block the deletion of others.
 */
export async function reportAbandoned(
  tx: Transaction,
  { limit, retention }: Reaping,
): Promise<OperationRef[]> {
  const kept = await tx<KeptRow[]>`
    update idempotency_keys
    set expires_at = now() + ${retentionOfRow(tx, retention)} * interval '1 second'
    where (tenant_id, id) in (
      select tenant_id, id from idempotency_keys
      where ${stoppedInDoubt(tx)} and not (${stoppedHalfWay(tx)} and ${isOvertaken(tx)})
      order by expires_at
      limit ${limit}
    )
    and ${stoppedInDoubt(tx)}
    returning
      tenant_id as "tenantId", id, payment_id as "paymentId", refund_id as "refundId",
      operation, recovery_point, last_error as reason
  `
  if (kept.length === 0) return []
  const payments = await tx<{ id: string; provider: string }[]>`
    select id, provider from payments
    where tenant_id = any(${kept.map(({ tenantId }) => tenantId)}::uuid[])
      and id = any(${kept.map(({ paymentId }) => paymentId)}::uuid[])
  `
  const providerOf = new Map(payments.map(({ id, provider }) => [id, provider]))
  const findings = kept.map(({ tenantId, id, paymentId, refundId, ...ours }) => ({
    provider: providerOf.get(paymentId) ?? '',
    kind: 'operation_abandoned' as const,
    objectId: showId('op', id),
    runId: null,
    subject: { tenantId, paymentId, refundId, operationId: id },
    ours,
    theirs: null,
  }))
  await openFindings(tx, findings)
  return kept
}

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
      const keys = await tx<DeletedKey[]>`
        delete from idempotency_keys
        where tenant_id = ${tenantId} and id = any(${refs.map(({ id }) => id)}::uuid[])
          and status = 'completed' and expires_at < now()
        returning
          key, payment_id, refund_id, expires_at as expired_at,
          case when payment_id is null then response_headers ->> 'location' end as location
      `
      await insertTombstones(tx, tenantId, keys)
      return keys.length
    })
    return counts.reduce((sum, count) => sum + count, 0)
  })
}

type DeletedKey = TombstoneRow & { readonly key: string }

async function insertTombstones(
  tx: Transaction,
  tenantId: string,
  keys: readonly DeletedKey[],
): Promise<void> {
  if (keys.length === 0) return
  const tombstones = keys.map(({ key, ...deleted }) => ({
    tenant_id: tenantId,
    key_hash: hash('sha256', key, 'buffer'),
    ...deleted,
  }))
  await tx`
    insert into key_tombstones ${rowsOf(tx, tombstones)}
    on conflict (tenant_id, key_hash) do update set
      payment_id = excluded.payment_id,
      refund_id = excluded.refund_id,
      location = excluded.location,
      expired_at = excluded.expired_at,
      deleted_at = excluded.deleted_at
  `
}

/** Deletes tombstones after their retention, the oldest first. Returns the number of deleted ones. */
export async function deleteOldTombstones(
  sql: Sql,
  { retentionSeconds, limit }: { retentionSeconds: number; limit: number },
): Promise<number> {
  const { count } = await asService(sql)`
    delete from key_tombstones where (tenant_id, key_hash) in (
      select tenant_id, key_hash from key_tombstones
      where deleted_at < now() - ${retentionSeconds} * interval '1 second'
      order by deleted_at
      limit ${limit}
    )
    and deleted_at < now() - ${retentionSeconds} * interval '1 second'
  `
  return count
}
