// The reaper: deletes completed keys after their retention period, and ends operations that were
// given up and never retried. It leaves payments, refunds, the ledger and timelines alone, and
// makes no provider call.
import type { Config } from '../config.ts'
import {
  completeIfOvertaken,
  deleteExpiredKeys,
  keepIfPartlyExecuted,
  timeOutIfAbandoned,
  type AbandonedOperation,
} from '../db/idempotency/key-expiry.ts'
import { openFindings, type NewFinding } from '../db/reconciliation/findings.ts'
import { deleteOldTombstones } from '../db/idempotency/key-tombstones.ts'
import { inService } from '../db/connection/transaction.ts'
import type { KeyRetention } from '../domain/idempotency/retention.ts'
import { showId } from '../domain/resource-id.ts'
import { problemResponse } from '../domain/operations/stored-response.ts'
import { inFullBatches } from './batches.ts'
import type { Engine } from '../engine/engine.ts'

export type ReaperParts = Pick<Engine, 'store' | 'log'>

export type ReaperSettings = Pick<
  Config,
  | 'KEY_RETENTION_SECONDS'
  | 'KEY_RETENTION_SECONDS_BY_OPERATION'
  | 'TOMBSTONE_RETENTION_SECONDS'
  | 'REAP_BATCH_SIZE'
  | 'IDEMPOTENCY_FLAVOR'
>

/** The results of one round of the reaper. */
export interface ReaperCounts extends Record<string, number> {
  /** Keys that were deleted, and left a tombstone. */
  readonly reaped: number
  /** Operations that were given up before any effect; they have a final answer now. */
  readonly timed_out: number
  /** Operations that were given up, and whose payment another request has ended. */
  readonly overtaken: number
  /** Operations that were given up partly executed; they wait for an operator now. */
  readonly abandoned: number
  readonly tombstones_deleted: number
}

/** Runs one round. Concurrent rounds, in this and in other processes, are harmless. */
export async function reap(parts: ReaperParts, settings: ReaperSettings): Promise<ReaperCounts> {
  const { sql } = parts.store
  const limit = settings.REAP_BATCH_SIZE
  const { IDEMPOTENCY_FLAVOR: flavor } = settings
  const timeout = problemResponse(flavor, 'operation-timed-out')
  const overtaken = problemResponse(flavor, 'invalid-state', 'Another request ended the payment.')
  const kept = { limit, retention: settings }
  const old = { limit, retentionSeconds: settings.TOMBSTONE_RETENTION_SECONDS }
  return {
    timed_out: await inFullBatches(limit, () => timeOutIfAbandoned(sql, timeout, kept)),
    overtaken: await inFullBatches(limit, () => completeIfOvertaken(sql, overtaken, kept)),
    abandoned: await inFullBatches(limit, () => openFinding(parts, kept)),
    reaped: await inFullBatches(limit, () => deleteExpiredKeys(sql, limit)),
    tombstones_deleted: await inFullBatches(limit, () => deleteOldTombstones(sql, old)),
  }
}

/** Opens the finding in the same transaction that marks the operation as kept. */
async function openFinding(
  { store, log }: ReaperParts,
  kept: { limit: number; retention: KeyRetention },
): Promise<number> {
  const abandoned = await inService(store.sql, async (tx) => {
    const operations = await keepIfPartlyExecuted(tx, kept)
    await openFindings(tx, operations.map(findingOf))
    return operations
  })
  for (const { id } of abandoned)
    log.warn({ operation: id }, 'given up partly executed, and never retried')
  return abandoned.length
}

function findingOf(operation: AbandonedOperation): NewFinding {
  const { tenantId, id, provider, paymentId, refundId, recoveryPoint, reason } = operation
  return {
    provider,
    kind: 'operation_abandoned',
    objectId: showId('op', id),
    runId: null,
    subject: { tenantId, paymentId, refundId, operationId: id },
    ours: { operation: operation.operation, recovery_point: recoveryPoint, reason },
    theirs: null,
  }
}
