// Finds and reopens idempotency keys for clients.
import { randomUUID } from 'node:crypto'
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { isOfTenant } from '../operations/fence.ts'
import { addOperationJobs, queuedColumns, type QueuedOperation } from '../queue/jobs.ts'
import { FirstSentRefusedError } from './first-sent.ts'
import { keyColumns, keyFromRow, type IdempotencyKey, type KeyRow } from './idempotency-key-rows.ts'
import { findTombstone, KeyExpiredError } from './key-tombstones.ts'
import { asTenant, asTenants } from '../connection/transaction.ts'

/**
 * Finds the key that prevented a reservation and was not in its result: a concurrent reservation
 * that committed after our snapshot is visible now.
 *
 * @throws KeyExpiredError when only the tombstone exists, and the key must not be reused.
 * @throws FirstSentRefusedError when nothing of the key exists, and the request may be a late retry.
 */
export async function findReservedKey(
  sql: Sql,
  { tenantId, key, firstSent }: KeyName & { readonly firstSent?: Date | undefined },
): Promise<IdempotencyKey> {
  const existing = await findIdempotencyKey(sql, tenantId, key)
  if (existing !== undefined) return existing
  const earlier = await findTombstone(sql, tenantId, key)
  if (earlier !== undefined) throw new KeyExpiredError(earlier)
  if (firstSent !== undefined) throw new FirstSentRefusedError('the request may be a late retry')
  throw new Error('the key was reserved, and deleted since; reserve it again')
}

/** Finds an idempotency key of a tenant. */
export async function findIdempotencyKey(
  sql: Sql | Transaction,
  tenantId: string,
  key: string,
): Promise<IdempotencyKey | undefined> {
  const [found] = await findEach(sql, [{ tenantId, key }])
  return found
}

/** A key, by its name. */
export interface KeyName {
  readonly tenantId: string
  readonly key: string
}

/** Finds idempotency keys of one tenant; undefined for one that does not exist. */
export async function findEach(
  sql: Sql | Transaction,
  names: readonly KeyName[],
): Promise<(IdempotencyKey | undefined)[]> {
  const [{ tenantId } = { tenantId: '' }] = names
  const rows = await findKeyRows(sql, tenantId, names)
  const found = new Map(rows.map((row) => [row.key, keyFromRow(row)]))
  return names.map(({ key }) => found.get(key))
}

/** Finds the rows of keys of one tenant. */
export async function findKeyRows(
  sql: Sql | Transaction,
  tenantId: string,
  names: readonly Pick<KeyName, 'key'>[],
): Promise<KeyRow[]> {
  if (names.length === 0) return []
  const keys = names.map(({ key }) => key)
  return await asTenant(sql, tenantId)<KeyRow[]>`
    select found.* from unnest(
      -- In a subselect, because otherwise Postgres plans again for each number of elements.
      (select ${keys}::text[])
    ) as wanted (key)
    cross join lateral (
      -- The limit makes Postgres look up each key by its index.
      select ${keyColumns(sql)} from idempotency_keys as stored
      where ${isOfTenant(sql, tenantId)} and stored.key = wanted.key
      limit 1
    ) as found
  `
}

/** The idle ones among the given operations: completed, failed or unknown. */
export async function findIdle(sql: Sql, refs: readonly OperationRef[]): Promise<IdempotencyKey[]> {
  const rows = await asTenants(sql, refs)<KeyRow[]>`
    select ${keyColumns(sql)} from idempotency_keys
    where tenant_id = any(${refs.map(({ tenantId }) => tenantId)}::uuid[])
      and id = any(${refs.map(({ id }) => id)}::uuid[])
      and status not in ('pending', 'processing')
  `
  return rows.map(keyFromRow)
}

/**
 * Reopens an operation that is proved to have executed nothing, for its client's retry. One of
 * several concurrent retries wins; the others get false. If operators only stated that its call did
 * not happen, the time of the call is still there, and the call is in doubt again. An operation whose
 * client wants out stays as it is.
 */
export async function reopenIfFailed(
  tx: Transaction,
  ref: OperationRef,
  traceparent?: string,
): Promise<boolean> {
  const reopened = await tx<QueuedOperation[]>`
    update idempotency_keys
    set status = 'pending', attempts = 0, last_error = null, job_id = ${randomUUID()},
      in_doubt = (phase_began_at is not null)
    where tenant_id = ${ref.tenantId} and id = ${ref.id} and status = 'failed_retryable'
      and cancellation is null
    returning ${queuedColumns(tx)}
  `
  await addOperationJobs(
    tx,
    reopened.map((queued) => ({ ...queued, traceparent })),
  )
  return reopened.length === 1
}
