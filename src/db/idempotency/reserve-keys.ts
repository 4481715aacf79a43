// Reserves idempotency keys in the transaction that writes what they are for. The unique constraint on
// tenant and key decides which request executes a key.
import { randomUUID } from 'node:crypto'
import type { ValidatedFingerprint } from '../../domain/idempotency/fingerprint.ts'
import { CLOCK_SKEW_SECONDS } from '../../domain/idempotency/repeatability.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Transaction } from '../connection/client.ts'
import { rowsOf } from '../connection/rows.ts'
import { together } from '../connection/transaction.ts'
import { idleKeyColumns, type KeyRow } from './idempotency-key-rows.ts'
import { findTombstones, type ExpiredKeys, type TombstoneRow } from './key-tombstones.ts'

/** A request for a key. */
export interface KeyRequest extends OperationRef {
  readonly key: string
  /** When the client sent the request for the first time, if it says so. */
  readonly firstSent?: Date | undefined
  readonly fingerprint: Buffer
  /** Absent for an operation of our own, which has no body. */
  readonly validated?: ValidatedFingerprint | undefined
  readonly operation: string
  readonly retentionSeconds: number
  /** What an expired key gets; `new` by default. */
  readonly expiredKeys?: ExpiredKeys | undefined
  /** Absent for a local operation. */
  readonly paymentId?: string | undefined
  readonly refundId?: string | null
  readonly disputeId?: string | null
  /** Parameters of the request that no resource stores. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A reserved key, with the job of its operation. */
export type ReservedRow = KeyRow & { readonly job_id: string }

/**
 * Reserves the keys of requests of one tenant that are free, and that may be used again if they have
 * expired. Returns their rows; another transaction waits for the end of this one.
 */
export async function reserveKeys(
  tx: Transaction,
  tenantId: string,
  requests: readonly KeyRequest[],
): Promise<ReservedRow[]> {
  // All processes lock in the same order, so that they do not deadlock.
  const inOrder = requests.toSorted((one, other) => (one.key < other.key ? -1 : 1))
  const rows = inOrder.map((request) => rowOf(tx, tenantId, request))
  const [reserved, buried, nowMs] = await together([
    insertKeys(tx, rows),
    // Sent behind the insert: a key that was free because it was deleted has its tombstone by now.
    findTombstones(
      tx,
      tenantId,
      requests.map(({ key }) => key),
    ),
    readClock(tx, requests),
  ])
  if (buried.length === 0 && nowMs === undefined) return reserved
  const tombstones = new Map(
    buried.map(({ key, buried_in_seconds: _buried, ...row }) => [key, row]),
  )
  const asked = new Map(requests.map((request) => [request.id, request]))
  const isFree = (row: ReservedRow): boolean => {
    const request = asked.get(row.id)
    const earlier = tombstones.get(row.key)
    if (request === undefined || (request.expiredKeys === 'gone' && earlier !== undefined))
      return false
    return mayBeFirst(request, nowMs, earlier)
  }
  const free = reserved.filter(isFree)
  await together([
    releaseKeys(
      tx,
      tenantId,
      reserved.filter((row) => !isFree(row)),
    ),
    ...free.flatMap(({ id, key }) => {
      const earlier = tombstones.get(key)
      return earlier === undefined ? [] : [rememberEarlier(tx, { tenantId, id }, earlier)]
    }),
  ])
  return free.map((row) => ({ ...row, earlier: tombstones.get(row.key) ?? null }))
}

/** Inserts the keys that are free. */
async function insertKeys(
  tx: Transaction,
  rows: readonly ReturnType<typeof rowOf>[],
): Promise<ReservedRow[]> {
  return await tx<ReservedRow[]>`
    insert into idempotency_keys ${rowsOf(tx, rows)}
    on conflict (tenant_id, key) do nothing
    returning job_id, ${idleKeyColumns(tx)}
  `
}

function rowOf(tx: Transaction, tenantId: string, request: KeyRequest) {
  const { validated, parameters = {} } = request
  return {
    tenant_id: tenantId,
    id: request.id,
    key: request.key,
    fingerprint: request.fingerprint,
    fingerprint_version: validated?.version ?? 1,
    validated_fingerprint: validated?.fingerprint,
    operation: request.operation,
    payment_id: request.paymentId,
    refund_id: request.refundId,
    dispute_id: request.disputeId,
    parameters,
    job_id: randomUUID(),
    expires_at: tx`now() + ${request.retentionSeconds} * interval '1 second'`,
  }
}

/** Deletes keys that this transaction has inserted. No other transaction has seen them. */
export async function releaseKeys(
  tx: Transaction,
  tenantId: string,
  keys: readonly Pick<KeyRow, 'id'>[],
): Promise<void> {
  if (keys.length === 0) return
  await tx`
    delete from idempotency_keys
    where tenant_id = ${tenantId} and id = any(${keys.map(({ id }) => id)}::uuid[])
  `
}

async function rememberEarlier(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  earlier: TombstoneRow,
): Promise<void> {
  await tx`
    update idempotency_keys set earlier = ${JSON.stringify(earlier)}::jsonb
    where tenant_id = ${tenantId} and id = ${id}
  `
}

/** The clock by which keys expire, after the keys were reserved: if a request says when it was sent. */
async function readClock(
  tx: Transaction,
  requests: readonly KeyRequest[],
): Promise<number | undefined> {
  if (requests.every(({ firstSent }) => firstSent === undefined)) return undefined
  const [clock] = await tx<{ ms: number }[]>`
    select (extract(epoch from statement_timestamp()) * 1000)::float8 as ms
  `
  return clock?.ms
}

/**
 * Whether the request does not say when it was first sent, or cannot have been executed under a key that
 * was deleted: it is younger than its key can have been kept, and than every expired use of its key. That
 * is known even if the retention was shorter at that time.
 */
function mayBeFirst(
  { firstSent, retentionSeconds }: KeyRequest,
  nowMs = 0,
  earlier?: TombstoneRow,
): boolean {
  if (firstSent === undefined) return true
  const age = (nowMs - firstSent.getTime()) / 1_000
  const isYoung = age >= -CLOCK_SKEW_SECONDS && age <= retentionSeconds - CLOCK_SKEW_SECONDS
  return isYoung && (earlier === undefined || new Date(earlier.expired_at) < firstSent)
}
