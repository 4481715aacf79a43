// Reserves idempotency keys in the transaction that writes what they are for. The unique constraint on
// tenant and key decides which request executes a key.
import { randomUUID } from 'node:crypto'
import type { ValidatedFingerprint } from '../../domain/idempotency/idempotency-key.ts'
import { CLOCK_SKEW_SECONDS } from '../../domain/idempotency/repeatability.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Transaction } from '../connection/client.ts'
import { rowsOf } from '../connection/rows.ts'
import { together } from '../connection/transaction.ts'
import { keyColumns, type KeyRow, findTombstones, type ExpiredKeys } from './idempotency-keys.ts'
import type { TombstoneRow } from '../schema/idempotency-keys.ts'

/** A key that a request asks for. */
export interface RequestedKey extends OperationRef {
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
  requests: readonly RequestedKey[],
): Promise<ReservedRow[]> {
  // All processes lock in the same order, so that they do not deadlock.
  const inOrder = requests.toSorted((one, other) => (one.key < other.key ? -1 : 1))
  const inserted = inOrder.map((request) => rowOf(tx, tenantId, request))
  const [reserved, tombstones, nowMs] = await together([
    insertKeys(tx, inserted),
    // Sent behind the insert: a key that was free because it was deleted has its tombstone by now.
    findTombstones(tx, tenantId, requests),
    readClock(tx, requests),
  ])
  if (tombstones.length === 0 && nowMs === undefined) return reserved
  const requestOf = new Map(requests.map((request) => [request.id, request]))
  const earlierOf = new Map(tombstones.map(({ key, ...row }) => [key, row]))
  const rows = reserved.map((row) => ({ ...row, earlier: earlierOf.get(row.key) ?? null }))
  const isFree = ({ id, earlier }: ReservedRow): boolean => {
    const request = requestOf.get(id)
    return request !== undefined && mayUse(request, nowMs, earlier)
  }
  const free = rows.filter(isFree)
  const used = rows.filter((row) => !isFree(row))
  await together([
    deleteKeys(tx, tenantId, used),
    ...free.filter(({ earlier }) => earlier !== null).map((row) => rememberEarlier(tx, row)),
  ])
  return free
}

/** Inserts the keys that are free. */
async function insertKeys(
  tx: Transaction,
  rows: readonly ReturnType<typeof rowOf>[],
): Promise<ReservedRow[]> {
  return await tx<ReservedRow[]>`
    insert into idempotency_keys ${rowsOf(tx, rows)}
    on conflict (tenant_id, key) do nothing
    returning job_id, ${keyColumns(tx)}
  `
}

function rowOf(tx: Transaction, tenantId: string, request: RequestedKey) {
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
export async function deleteKeys(
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
  { tenant_id: tenantId, id, earlier }: KeyRow,
): Promise<void> {
  await tx`
    update idempotency_keys set earlier = ${JSON.stringify(earlier)}::jsonb
    where tenant_id = ${tenantId} and id = ${id}
  `
}

/** The clock by which keys expire, after the keys were reserved: if a request says when it was sent. */
async function readClock(
  tx: Transaction,
  requests: readonly RequestedKey[],
): Promise<number | undefined> {
  if (requests.every(({ firstSent }) => firstSent === undefined)) return undefined
  const [clock] = await tx<{ ms: number }[]>`
    select (extract(epoch from statement_timestamp()) * 1000)::float8 as ms
  `
  return clock?.ms
}

/**
 * Whether a request may use a key that was free: not if an expired use of it counts, nor if the request
 * may have been executed under a key that was deleted. A request that says when it was first sent must be
 * younger than its key can have been kept, and than the last expired use of its key. See
 * docs/decisions/0058-when-a-request-was-first-sent.md.
 */
function mayUse(
  { expiredKeys, firstSent, retentionSeconds }: RequestedKey,
  nowMs: number | undefined,
  earlier: TombstoneRow | null,
): boolean {
  if (expiredKeys === 'gone' && earlier !== null) return false
  if (firstSent === undefined) return true
  const age = ((nowMs ?? 0) - firstSent.getTime()) / 1_000
  const isYoung = age >= -CLOCK_SKEW_SECONDS && age <= retentionSeconds - CLOCK_SKEW_SECONDS
  return isYoung && (earlier === null || new Date(earlier.expired_at) < firstSent)
}
