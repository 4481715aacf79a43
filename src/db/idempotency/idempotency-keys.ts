// Reads idempotency keys, what clients may see of them, and the tombstones of deleted ones; counts keys, and
// reopens them.
import { hash, randomUUID } from 'node:crypto'
import type { Tombstone, ValidatedFingerprint } from '../../domain/idempotency/idempotency-key.ts'
import type { OperationRef, StoredResponse } from '../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { asTenant, asTenants, inTenant } from '../connection/transaction.ts'
import { responseBody } from '../../encryption/encryption.ts'
import { addOperationJobs, queuedColumns, type QueuedOperation } from '../queue/jobs.ts'
import type { idempotencyKeys, TombstoneRow } from '../schema/idempotency-keys.ts'
import { asBytea, objectOf, type ObjectOf, type RowOf } from '../connection/rows.ts'

/** What is read of the row of a key. Times at which something is due are read as durations. */
export type KeyRow = Omit<
  RowOf<typeof idempotencyKeys>,
  | 'lease_expires_at'
  | 'phase_began_at'
  | 'failure_certain'
  | 'last_error'
  | 'job_id'
  | 'next_check_at'
  | 'checked_at'
  | 'finished_at'
>

export const keyColumns = (sql: Sql | Transaction): Fragment => sql`
  tenant_id, id, key, fingerprint, fingerprint_version, validated_fingerprint, operation, payment_id,
  refund_id, dispute_id, parameters, status, recovery_point, lease_epoch, attempts, in_doubt,
  failure_stored, key_generation, unknown_at, evidence, earlier, cancellation, response_version,
  response_status, response_headers, response_body, created_at, expires_at
`

/** An idempotency key, as its client may see it. */
export interface IdempotencyKey extends Pick<
  ObjectOf<KeyRow>,
  | 'tenantId'
  | 'id'
  | 'key'
  | 'fingerprint'
  | 'operation'
  | 'paymentId'
  | 'refundId'
  | 'status'
  | 'recoveryPoint'
  | 'attempts'
  | 'createdAt'
  | 'expiresAt'
  | 'cancellation'
> {
  /** Null for an operation of our own, which has no request. */
  readonly validated: ValidatedFingerprint | null
  /** Until the lease ends, or an unknown outcome is looked up next; null when neither is scheduled. */
  readonly dueInSeconds: number | null
  /** The tombstone of the expired key, when this is not the key's first operation. */
  readonly earlier: Tombstone | null
  readonly response: StoredResponse | null
}

/** Absent where the row was changed: no change leaves an operation in progress that a client may see. */
type DueKeyRow = KeyRow & { readonly due_in_seconds?: number | null }

const dueKeyColumns = (sql: Sql | Transaction): Fragment => sql`
  ${keyColumns(sql)},
  -- An operation has one of the two at most.
  extract(epoch from coalesce(lease_expires_at, next_check_at) - now())::float8 as due_in_seconds
`

export function keyFromRow(row: DueKeyRow): IdempotencyKey {
  return {
    tenantId: row.tenant_id,
    id: row.id,
    key: row.key,
    fingerprint: row.fingerprint,
    validated: row.validated_fingerprint && {
      version: row.fingerprint_version,
      fingerprint: row.validated_fingerprint,
    },
    operation: row.operation,
    paymentId: row.payment_id,
    refundId: row.refund_id,
    status: row.status,
    recoveryPoint: row.recovery_point,
    attempts: row.attempts,
    dueInSeconds: row.due_in_seconds ?? null,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    earlier: row.earlier && objectOf(row.earlier),
    cancellation: row.cancellation,
    response: responseFromRow(row),
  }
}

/**
 * The body is decrypted when it is read: a response that cannot be decrypted fails its own request,
 * and none of those whose keys the same statement found.
 */
function responseFromRow(row: KeyRow): StoredResponse | null {
  const { response_status: status, response_headers: headers, response_body: stored } = row
  if (status === null || headers === null || stored === null) return null
  return {
    version: row.response_version,
    status,
    headers,
    get body() {
      return responseBody.decrypt({ tenantId: row.tenant_id, id: row.id }, stored)
    },
  }
}

/** What a retry with an expired key gets: a new operation, or an error. */
export type ExpiredKeys = 'new' | 'gone'

/** The key has expired, and the configuration forbids a new operation under it. */
export class KeyExpiredError extends Error {
  override name = 'KeyExpiredError'
  readonly earlier: Tombstone

  constructor(earlier: Tombstone) {
    super('the idempotency key was used before and has expired')
    this.earlier = earlier
  }
}

/** A request that says when it was first sent may be a retry of one whose key was deleted. */
export class FirstSentRefusedError extends Error {
  override name = 'FirstSentRefusedError'
}

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

/** The tombstone of a key; undefined when the key was never used, or its tombstone is deleted. */
export async function findTombstone(
  sql: Sql,
  tenantId: string,
  key: string,
): Promise<Tombstone | undefined> {
  const [row] = await findTombstones(sql, tenantId, [{ key }])
  return row && objectOf(row)
}

type FoundTombstone = TombstoneRow & { readonly key: string }

/** The tombstones of keys of a tenant. */
export async function findTombstones(
  sql: Sql | Transaction,
  tenantId: string,
  names: readonly { readonly key: string }[],
): Promise<FoundTombstone[]> {
  const keyOf = new Map(names.map(({ key }) => [asBytea(hash('sha256', key, 'buffer')), key]))
  type Row = Omit<FoundTombstone, 'key'> & { readonly key_hash: Buffer }
  const rows = await asTenant(sql, tenantId)<Row[]>`
    select key_hash, payment_id, refund_id, location, expired_at from key_tombstones
    where tenant_id = ${tenantId} and key_hash = any(${[...keyOf.keys()]}::bytea[])
  `
  return rows.map(({ key_hash: hashed, ...row }) => ({
    ...row,
    key: keyOf.get(asBytea(hashed)) ?? '',
  }))
}

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

/** Finds keys of one tenant. */
export async function findEach(
  sql: Sql | Transaction,
  names: readonly KeyName[],
): Promise<(IdempotencyKey | undefined)[]> {
  const [{ tenantId } = { tenantId: '' }] = names
  const rows = await findKeyRows(sql, tenantId, names)
  const found = new Map(rows.map((row) => [row.key, keyFromRow(row)]))
  return names.map(({ key }) => found.get(key))
}

export async function findKeyRows(
  sql: Sql | Transaction,
  tenantId: string,
  names: readonly Pick<KeyName, 'key'>[],
): Promise<DueKeyRow[]> {
  if (names.length === 0) return []
  const keys = names.map(({ key }) => key)
  return await asTenant(sql, tenantId)<DueKeyRow[]>`
    select found.* from unnest(
      -- In a subselect, because otherwise Postgres plans again for each number of elements.
      (select ${keys}::text[])
    ) as wanted (key)
    cross join lateral (
      -- The limit makes Postgres look up each key by its index.
      select ${dueKeyColumns(sql)} from idempotency_keys as stored
      where ${isOfTenant(sql, tenantId)} and stored.key = wanted.key
      limit 1
    ) as found
  `
}

/** The idle ones among the given operations: completed, failed or unknown. */
export async function findIdle(sql: Sql, refs: readonly OperationRef[]): Promise<IdempotencyKey[]> {
  const rows = await asTenants(sql, refs)<DueKeyRow[]>`
    select ${dueKeyColumns(sql)} from idempotency_keys
    where tenant_id = any(${refs.map(({ tenantId }) => tenantId)}::uuid[])
      and id = any(${refs.map(({ id }) => id)}::uuid[])
      and status not in ('pending', 'processing')
  `
  return rows.map(keyFromRow)
}

/**
 * Reopens a failed operation for its client's retry. One of several concurrent retries wins; the others
 * get false. If the time of a call is still there, the call is in doubt again. An operation whose client
 * wants out stays as it is.
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

/** The number of the tenant's operations that are pending, processing or unknown, up to `most`. */
export async function countActiveKeys(sql: Sql, tenantId: string, most: number): Promise<number> {
  const [row] = await asTenant(sql, tenantId)<{ active: number }[]>`
    select count(*)::int as active from (
      (
        select from idempotency_keys
        where tenant_id = ${tenantId} and status in ('pending', 'processing')
        limit ${most}
      )
      union all
      (
        select from idempotency_keys where tenant_id = ${tenantId} and status = 'unknown'
        limit ${most}
      )
    ) as active
  `
  return row?.active ?? 0
}

/**
 * The number of all keys of a tenant, up to `most`. It reads as many entries of an index. In a transaction it
 * has a connection of its own, so that no other statement waits for it.
 */
export async function countStoredKeys(sql: Sql, tenantId: string, most: number): Promise<number> {
  return await inTenant(sql, tenantId, async (tx) => {
    const [row] = await tx<{ stored: number }[]>`
      select count(*)::int as stored
      from (select from idempotency_keys where tenant_id = ${tenantId} limit ${most}) as stored
    `
    return row?.stored ?? 0
  })
}

/**
 * What fences the writes of a worker: its lease epoch, and the recovery point that it read. Its
 * transaction changes the row of the key under them, or rolls back what else it sent.
 */
export interface Fence extends OperationRef {
  readonly recoveryPoint: string
  readonly leaseEpoch: number
}

/**
 * The condition that a row of `idempotency_keys` is of the tenant, beside one on a column that tells its
 * rows apart. The tenant is named twice, so that the planner expects twice as many rows of it as the mean
 * tenant has. Where that has one row, it would take any index that begins with the tenant for as good as
 * the right one, and read all rows of a busy tenant: 12,000 for one, in test/db/busy-tenant.test.ts.
 */
const isOfTenant = (sql: Sql | Transaction, tenantId: string): Fragment =>
  sql`tenant_id = any(array[${tenantId}::uuid, ${tenantId}::uuid])`

/** The condition that a row of `idempotency_keys` is this operation. */
export const isOperation = (sql: Sql | Transaction, { tenantId, id }: OperationRef): Fragment =>
  sql`${isOfTenant(sql, tenantId)} and id = ${id}`

/**
 * The condition that a row still has this lease and this recovery point. The sweeper takes a lease away by
 * the status, the next claim by the epoch; an expired lease alone changes nothing.
 */
export const isOwner = (sql: Sql | Transaction, fence: Fence): Fragment => sql`
  ${isOperation(sql, fence)}
  and recovery_point = ${fence.recoveryPoint} and lease_epoch = ${fence.leaseEpoch}
  -- The coalesce keeps Postgres from using a partial index: a plan made while few operations were
  -- unfinished would scan all of them when there are many.
  and coalesce(status = 'processing', false)
`
