// Resolves unknown outcomes, for the outcome resolver: claims the checks that are due, requests
// one, and resumes an operation whose outcome is known or stated.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { isOwner, type Fence } from './fence.ts'
import { nextCheckAt, type Claim } from './leases.ts'
import {
  operationFromRow,
  selectOperation,
  type JoinedRow,
  type OperationRow,
} from './operation-rows.ts'
import { seesEveryTenant, seesTenant } from '../connection/row-security.ts'

/**
 * What an operator stated about an unknown outcome: the id of the created object, or that there is
 * none. The next look-up judges it, and it is dropped then.
 */
export interface Evidence {
  /** The entry of the audit trail with the statement. */
  readonly claim: string
  /** It did not happen. Not a proof by itself: the look-up decides. */
  readonly proved_absent?: true
  /** Two operators state that it did not happen, even if no look-up is possible. */
  readonly unverified?: true
  readonly provider_payment_id?: string
  readonly provider_refund_id?: string
  readonly by: string
  readonly note: string
}

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

interface DueRow extends JoinedRow {
  created_at: string
  unknown_at: string
  unknown_for_seconds: number
  failure_kept: boolean
  evidence: Evidence | null
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
  const rows = await sql<DueRow[]>`
    -- Evaluated once: a subquery of the update may be evaluated again for every due row.
    with chosen as materialized (
      select tenant_id, id from idempotency_keys
      where status = 'unknown' and next_check_at <= now()
      order by next_check_at
      limit ${limit}
    ),
    due as (
      update idempotency_keys set
        checked_at = now(),
        next_check_at = ${nextCheckAt(sql, delaysSeconds)}
      from chosen
      where idempotency_keys.tenant_id = chosen.tenant_id and idempotency_keys.id = chosen.id
        and status = 'unknown' and next_check_at <= now()
      returning idempotency_keys.*
    )
    ${selectOperation(sql, sql`due`, dueColumns(sql))}
    where ${seesEveryTenant(sql)}
  `
  return rows.map(dueFromRow)
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
  await sql`
    update idempotency_keys set
      checked_at = null, next_check_at = now() + ${delaySeconds} * interval '1 second'
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id}
      and status = 'unknown' and lease_epoch = ${leaseEpoch}
  `
}

function dueColumns(sql: Sql): Fragment {
  return sql`
    operation.tenant_id, operation.unknown_at, operation.evidence,
    operation.created_at, operation.failure_kept,
    extract(epoch from now() - operation.unknown_at)::float8 as unknown_for_seconds
  `
}

function dueFromRow(row: DueRow): DueCheck {
  return {
    ...operationFromRow(row),
    calledFrom: new Date(row.created_at),
    calledTo: new Date(row.unknown_at),
    unknownForSeconds: row.unknown_for_seconds,
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
  sql: Sql,
  { tenantId, paymentId }: { tenantId: string; paymentId: string },
  { seconds, mostSeconds }: CheckInterval,
): Promise<boolean> {
  const { count } = await sql`
    update idempotency_keys set next_check_at = now()
    where ${seesTenant(sql, tenantId)}
      and tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'unknown'
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
  const { count } = await sql`
    update idempotency_keys set
      next_check_at = now(),
      evidence = coalesce(${evidence === null ? null : JSON.stringify(evidence)}::jsonb, evidence)
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
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
  const [row] = await tx<JoinedRow[]>`
    with claimed as (
      update idempotency_keys set
        status = 'processing',
        lease_epoch = lease_epoch + 1,
        lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
        attempts = 1,
        next_check_at = null,
        checked_at = null
      where tenant_id = ${ref.tenantId} and id = ${ref.id} and status = 'unknown'
        and recovery_point = ${ref.recoveryPoint} and lease_epoch = ${ref.leaseEpoch}
      returning *
    )
    ${selectOperation(tx, tx`claimed`)} where ${seesTenant(tx, ref.tenantId)}
  `
  return row && operationFromRow(row)
}

/** Drops an operator's statement that was judged, unless another one has replaced it. */
export async function dropEvidenceIfSame(
  tx: Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence,
): Promise<void> {
  await tx`
    update idempotency_keys set evidence = null
    where ${seesTenant(tx, tenantId)} and tenant_id = ${tenantId} and id = ${id}
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
    where ${seesTenant(tx, fence.tenantId)} and ${isOwner(tx, fence)}
  `
  return count === 1
}
