// Claims, renews and gives back operations for workers. Every write of an owner is fenced by lease epoch
// and recovery point, and leases expire by the database's clock.
import { randomUUID } from 'node:crypto'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { createBatches, type BatchLimits } from '../connection/batches.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { forEachTenant } from '../connection/rows.ts'
import { asTenant, inTenants } from '../connection/transaction.ts'
import {
  keyColumns,
  type KeyRow,
  isOperation,
  isOwner,
  type Fence,
} from '../idempotency/idempotency-keys.ts'
import { addOperationJobs, queuedColumns, type QueuedOperation } from '../queue/jobs.ts'
import { joinResources, nameOf, type OperationRow } from './operation-rows.ts'

/** An operation that a worker owns, with the lease epoch that fences its writes. */
export type Claim = OperationRow

/** See `claimEachIfUnowned`. */
export type ClaimOperation = (ref: OperationRef, leaseMs: number) => Promise<Claim | undefined>

/** Claims that come together share one transaction: a worker fetches its jobs in batches. */
export function batchClaims(sql: Sql, limits?: BatchLimits): ClaimOperation {
  return createBatches(
    (refs: readonly OperationRef[], leaseMs: number) => claimEachIfUnowned(sql, refs, leaseMs),
    { groupOf: (_ref, leaseMs) => String(leaseMs), limits },
  )
}

/**
 * Claims each operation that is pending or whose lease expired, and starts a new lease epoch, so
 * that writes of earlier owners fail. Undefined for an operation that cannot be claimed; the first
 * of several callers for the same operation gets it. Taking over from an owner that went silent
 * leaves the current provider call in doubt.
 */
export async function claimEachIfUnowned(
  sql: Sql,
  refs: readonly OperationRef[],
  leaseMs: number,
): Promise<(Claim | undefined)[]> {
  const rows = await inTenants(sql, refs, async (tx) => {
    const claimed = await forEachTenant(
      refs,
      async (tenantId, own) =>
        await tx<KeyRow[]>`
          update idempotency_keys set
            status = 'processing',
            lease_epoch = lease_epoch + 1,
            lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
            attempts = attempts + 1,
            in_doubt = in_doubt or status = 'processing',
            -- As the first claim has set it: least ignores null. Citus allows no now() in a coalesce.
            phase_began_at = least(phase_began_at, now()),
            -- The new owner may call again. If the outcome becomes unknown again, its schedule starts
            -- then.
            unknown_at = null,
            evidence = null
          where tenant_id = any(${own.map(() => tenantId)}::uuid[])
            and id = any(${own.map(({ id }) => id)}::uuid[])
            -- This form keeps Postgres from using a partial index: a plan made while few operations were
            -- unfinished would scan all of them when there are many.
            and (status = 'pending' or (status = 'processing' and lease_expires_at < now()))
            is not distinct from true
          returning ${keyColumns(tx)}
        `,
    )
    return await joinResources(tx, claimed.flat(), true)
  })
  const claims = new Map(rows.map((claim) => [nameOf(claim), claim]))
  return refs.map((ref) => {
    const claim = claims.get(nameOf(ref))
    claims.delete(nameOf(ref))
    return claim
  })
}

/**
 * When an unknown outcome is looked up next, by a schedule in seconds since it became unknown; null after
 * the last time.
 *
 * @param unknownForSeconds by the clock of the database.
 */
export function nextCheckAt(
  tx: Transaction,
  delaysSeconds: readonly number[],
  unknownForSeconds: number,
): Fragment {
  const later = delaysSeconds.filter((delay) => delay > unknownForSeconds)
  if (later.length === 0) return tx`null`
  return tx`now() + ${Math.min(...later) - unknownForSeconds} * interval '1 second'`
}

/** For how long the outcome of an operation has been unknown: 0 if it is not yet. */
export async function readUnknownFor(tx: Transaction, ref: OperationRef): Promise<number> {
  const [row] = await tx<{ unknown_for_seconds: number | null }[]>`
    select extract(epoch from now() - unknown_at)::float8 as unknown_for_seconds
    from idempotency_keys where ${isOperation(tx, ref)}
  `
  return row?.unknown_for_seconds ?? 0
}

/** Renews the lease before a provider call that could outlast it. */
export async function renewIfOwner(sql: Sql, fence: Fence, leaseMs: number): Promise<boolean> {
  const { count } = await asTenant(sql, fence.tenantId)`
    update idempotency_keys
    set lease_expires_at = now() + ${leaseMs} * interval '1 millisecond'
    where ${isOwner(sql, fence)}
  `
  return count === 1
}

/**
 * Gives the operation back without advancing it: to its job's next try (`pending`), to its client's
 * next retry (`failed_retryable`) or to the outcome resolver (`unknown`).
 *
 * @param to.inDoubt whether the call may have been executed. With `failed_retryable`, a
 *   retry is in doubt again, and repeats the call under the same key, within the key window only.
 * @param to.attempts the number of claims that count from now on; by default all of them.
 * @param to.retentionSeconds how long its client may retry; by default as long as before.
 * @param to.checkDelaysSeconds the schedule of the outcome resolver.
 */
export async function giveBackIfOwner(
  tx: Transaction,
  fence: Fence,
  to: {
    status: 'pending' | 'failed_retryable' | 'unknown'
    inDoubt: boolean
    reason: string
    attempts?: number
    retentionSeconds?: number
    checkDelaysSeconds: readonly number[]
  },
): Promise<boolean> {
  const { retentionSeconds, status, inDoubt } = to
  const [isUnknown, isFailed] = [status === 'unknown', status === 'failed_retryable']
  const unknownFor = isUnknown ? await readUnknownFor(tx, fence) : 0
  const unknownAt = isUnknown ? tx`least(unknown_at, now())` : tx`unknown_at`
  const expiry =
    retentionSeconds === undefined
      ? tx``
      : tx`expires_at = now() + ${retentionSeconds} * interval '1 second',`
  const { count } = await tx`
    update idempotency_keys set
      ${expiry}
      status = ${status},
      unknown_at = ${isFailed ? tx`null` : unknownAt},
      evidence = ${isFailed ? tx`null` : tx`evidence`},
      next_check_at = ${isUnknown ? nextCheckAt(tx, to.checkDelaysSeconds, unknownFor) : tx`null`},
      lease_expires_at = null,
      attempts = coalesce(${to.attempts ?? null}::integer, attempts),
      in_doubt = ${inDoubt && !isFailed},
      phase_began_at = case when ${inDoubt} then phase_began_at end,
      key_generation = key_generation
        + case when failure_stored and failure_certain and ${isFailed && !inDoubt} then 1 else 0 end,
      failure_stored = ${inDoubt} and failure_stored,
      last_error = ${to.reason}
    where ${isOwner(tx, fence)}
  `
  return count === 1
}

/**
 * Gives a pending operation a job that starts after the delay of a first retry. For a run without a
 * job, such as that of the outcome resolver, which would otherwise be repeated at once.
 */
export async function enqueueRetry(tx: Transaction, { tenantId, id }: OperationRef): Promise<void> {
  const queued = await tx<QueuedOperation[]>`
    update idempotency_keys set job_id = ${randomUUID()}
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'pending'
    returning ${queuedColumns(tx)}
  `
  await addOperationJobs(tx, queued, true)
}

/**
 * Records that the provider may keep a failure under the provider key: from now on no waiting time
 * proves that the call did not happen. False when the lease is lost.
 *
 * @param isCertain whether the failure was replayed: then the key is of no use any more.
 */
export async function recordStoredFailureIfOwner(
  sql: Sql,
  fence: Fence,
  isCertain: boolean,
): Promise<boolean> {
  const { count } = await asTenant(sql, fence.tenantId)`
    update idempotency_keys set
      in_doubt = true,
      failure_stored = true,
      failure_certain = ${isCertain} or (failure_stored and failure_certain)
    where ${isOwner(sql, fence)}
  `
  return count === 1
}

/**
 * Hands the operation over to another worker with a new job, because this one shuts down. No try
 * failed, so the job starts without a backoff. False when the lease is lost.
 */
export async function handOverIfOwner(
  tx: Transaction,
  fence: Fence,
  inDoubt: boolean,
  traceparent?: string,
): Promise<boolean> {
  const [queued] = await tx<QueuedOperation[]>`
    update idempotency_keys set
      status = 'pending',
      lease_expires_at = null,
      job_id = ${randomUUID()},
      in_doubt = ${inDoubt},
      phase_began_at = case when ${inDoubt} then phase_began_at end,
      last_error = 'its worker was stopped'
    where ${isOwner(tx, fence)}
    returning ${queuedColumns(tx)}
  `
  if (queued === undefined) return false
  await addOperationJobs(tx, [{ ...queued, traceparent }])
  return true
}

/**
 * Keeps a payment at its provider for good: a call that was in doubt may still be executed there, so
 * that the payment must not move to its fallback any more.
 */
export async function dropFallbackIfOwner(tx: Transaction, fence: Fence): Promise<void> {
  await tx`
    update idempotency_keys set parameters = parameters - 'fallback'
    where ${isOwner(tx, fence)} and parameters ? 'fallback'
  `
}
