// Resolves unknown outcomes, for the outcome resolver: claims the checks that are due, requests
// one, and resumes an operation whose outcome is known or stated.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { isOwner, type Fence } from './fence.ts'
import { nextCheckAt, type Claim } from './leases.ts'
import { asTenant, inService, together } from '../connection/transaction.ts'
import type { Evidence } from './evidence.ts'
import {
  operationFromRow,
  joinResources,
  operationColumns,
  readOperation,
  type OperationColumns,
  type JoinedRow,
  type OperationRow,
} from './operation-rows.ts'

/** An operation to look up at the provider now. */
export interface DueCheck extends OperationRow {
  /**
   * When its provider call can have been made. It starts at the intent, because an operation that
   * failed and was reopened called under the same key before.
   */
  readonly calledFrom: Date
  readonly calledTo: Date
  /** For how long the outcome has been unknown, in seconds. */
  readonly unknownForSeconds: number
  /** Whether the provider may keep a failure under the provider key, and execute the call late. */
  readonly failureKept: boolean
  readonly evidence: Evidence | null
}

/**
 * Claims the checks that are due, each for one caller. The schedule advances before the lookup:
 * after a crash the next check follows, or a person takes over after the last one.
 *
 * @param delaysSeconds the schedule, in seconds since the outcome became unknown, ascending.
 */
export async function claimDueChecks(
  sql: Sql,
  delaysSeconds: readonly number[],
  limit: number,
): Promise<DueCheck[]> {
  const rows = await inService(sql, async (tx) => {
    const due = await tx<DueRow[]>`
      select
        tenant_id as "tenantId", id,
        extract(epoch from now() - unknown_at)::float8 as unknown_for_seconds
      from idempotency_keys
      where status = 'unknown' and next_check_at <= now()
      order by next_check_at
      limit ${limit}
    `
    const claimed = await together(due.map((row) => claimIfDue(tx, delaysSeconds, row)))
    return await joinResources(tx, claimed.flat(), true)
  })
  return rows.map(dueFromRow)
}

type DueRow = OperationRef & { readonly unknown_for_seconds: number }

async function claimIfDue(
  tx: Transaction,
  delaysSeconds: readonly number[],
  { tenantId, id, unknown_for_seconds: unknownFor }: DueRow,
): Promise<OperationColumns[]> {
  return await tx<OperationColumns[]>`
    update idempotency_keys set
      checked_at = now(),
      next_check_at = ${nextCheckAt(tx, delaysSeconds, unknownFor)}
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown' and next_check_at <= now()
    returning ${operationColumns(tx)}
  `
}

/**
 * Repeats a check soon that was claimed and not made. It does not count as made, so no finding
 * follows from it.
 */
export async function postponeCheckIfUnknown(
  sql: Sql,
  { tenantId, id, leaseEpoch }: Pick<UnknownRef, 'tenantId' | 'id' | 'leaseEpoch'>,
  delaySeconds: number,
): Promise<void> {
  await asTenant(sql, tenantId)`
    update idempotency_keys set
      checked_at = null, next_check_at = now() + ${delaySeconds} * interval '1 second'
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and lease_epoch = ${leaseEpoch}
  `
}

function dueFromRow(row: JoinedRow): DueCheck {
  return {
    ...operationFromRow(row),
    calledFrom: new Date(row.created_at),
    calledTo: new Date(row.unknown_at ?? 0),
    unknownForSeconds: row.unknown_for_seconds ?? 0,
    failureKept: row.failure_kept,
    evidence: row.evidence,
  }
}

/** A check may wait for a tenth of the time for which the outcome is unknown: some 80 in a day. */
const AGE_PER_CHECK = 10

/** How long a check must wait after the last one. */
export interface CheckInterval {
  readonly seconds: number
  /** The longest that the age of the unknown outcome can make it. */
  readonly mostSeconds: number
}

/**
 * Requests a check of the unknown operations of a payment and its refunds now, unless one is due
 * already or was made recently. Returns whether one was requested. The checks can get rarer the longer
 * the outcome is unknown: the provider allows 500 reads for each transaction
 * (https://docs.stripe.com/rate-limits).
 */
export async function requestCheckOfPayment(
  sql: Sql | Transaction,
  { tenantId, paymentId }: { tenantId: string; paymentId: string },
  { seconds, mostSeconds }: CheckInterval,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update idempotency_keys set next_check_at = now()
    where tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'unknown'
      and (next_check_at is null or next_check_at > now())
      and (
        checked_at is null or now() - checked_at > greatest(
          ${seconds} * interval '1 second',
          least((now() - unknown_at) / ${AGE_PER_CHECK}, ${mostSeconds} * interval '1 second')
        )
      )
  `
  return count > 0
}

/**
 * Requests a check of an unknown operation now, with an operator's evidence. False when the
 * operation is not unknown.
 */
export async function requestCheckIfUnknown(
  sql: Sql | Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence | null = null,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update idempotency_keys set
      next_check_at = now(),
      evidence = coalesce(${evidence === null ? null : JSON.stringify(evidence)}::jsonb, evidence)
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
  `
  return count === 1
}

/**
 * An unknown operation when it was looked up. A write based on that requires it to be unchanged.
 */
export type UnknownRef = Pick<OperationRow, 'tenantId' | 'id' | 'recoveryPoint' | 'leaseEpoch'>

/**
 * Claims an unknown operation under a new lease epoch, with its attempts reset. Its provider call
 * stays in doubt and keeps its `unknown_at` until the outcome is recorded. Undefined when another
 * process claimed it.
 */
export async function claimIfUnknown(
  tx: Transaction,
  ref: UnknownRef,
  leaseMs: number,
): Promise<Claim | undefined> {
  const { count } = await tx`
    update idempotency_keys set
      status = 'processing',
      lease_epoch = lease_epoch + 1,
      lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
      attempts = 1,
      next_check_at = null,
      checked_at = null
    where tenant_id = ${ref.tenantId} and id = ${ref.id}
      and status = 'unknown' and recovery_point = ${ref.recoveryPoint}
      and lease_epoch = ${ref.leaseEpoch}
  `
  return count === 0 ? undefined : await readOperation(tx, ref)
}

/** Drops an operator's statement that was judged, unless another one has replaced it. */
export async function dropEvidenceIfSame(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence,
): Promise<void> {
  await tx`
    update idempotency_keys set evidence = null
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and evidence = ${JSON.stringify(evidence)}::jsonb
  `
}

/**
 * Gives an operation back to its client's next retry on an operator's word, while its call may have
 * been executed. It keeps the time of the call and the provider key: a retry is in doubt again, and
 * repeats the call under the same key, within the key window only.
 */
export async function giveBackInDoubtIfOwner(
  tx: Transaction,
  fence: Fence,
  { reason, retentionSeconds }: { reason: string; retentionSeconds: number },
): Promise<boolean> {
  const { count } = await tx`
    update idempotency_keys set
      status = 'failed_retryable',
      expires_at = now() + ${retentionSeconds} * interval '1 second',
      lease_expires_at = null,
      in_doubt = false,
      unknown_at = null,
      evidence = null,
      last_error = ${reason}
    where ${isOwner(tx, fence)}
  `
  return count === 1
}
