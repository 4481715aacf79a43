// The reaper: forgets completed keys past their retention, and settles what was given up and never asked
// for again. Payments, refunds, ledger and timelines are not its business; it never makes a foreign call.
import type { Config } from '../config.ts'
import {
  insertTombstones,
  deleteIfTombstoned,
  keepIfPartlyExecuted,
  timeOutIfAbandoned,
  type AbandonedOperation,
  type ExpiryCursor,
} from '../db/idempotency/key-expiry.ts'
import { openFindings, type NewFinding } from '../db/reconciliation/findings.ts'
import { deleteOldTombstones } from '../db/idempotency/key-tombstones.ts'
import { inTransaction } from '../db/connection/transaction.ts'
import { showId } from '../domain/resource-id.ts'
import { problemResponse } from '../domain/operations/stored-response.ts'
import { inBatches, inFullBatches } from './batches.ts'
import type { Engine } from '../engine/engine.ts'

export type ReaperParts = Pick<Engine, 'store' | 'log'> & {
  readonly provider: Pick<Engine['provider'], 'name'>
}

export type ReaperSettings = Pick<
  Config,
  | 'KEY_RETENTION_SECONDS'
  | 'TOMBSTONE_RETENTION_SECONDS'
  | 'REAP_BATCH_SIZE'
  | 'STORE_TIMEOUT_MS'
  | 'IDEMPOTENCY_FLAVOR'
>

/** How much one round of the reaper has done, by what it did. */
export interface ReaperCounts extends Record<string, number> {
  /** Keys that have a tombstone now, and are deleted by a later round. */
  readonly buried: number
  /** Keys that are gone. */
  readonly reaped: number
  /** Operations given up before any effect, which have a final answer now. */
  readonly timed_out: number
  /** Operations given up half-way, which wait for a person now. */
  readonly abandoned: number
  readonly tombstones_deleted: number
}

/** Goes round once. Several at once, here and in other processes, do no harm. */
export async function reap(parts: ReaperParts, settings: ReaperSettings): Promise<ReaperCounts> {
  const { sql } = parts.store
  const limit = settings.REAP_BATCH_SIZE
  const timeout = problemResponse(settings.IDEMPOTENCY_FLAVOR, 'operation-timed-out')
  const kept = { limit, retentionSeconds: settings.KEY_RETENTION_SECONDS }
  const old = { limit, retentionSeconds: settings.TOMBSTONE_RETENTION_SECONDS }
  const due = { limit, statementTimeoutMs: settings.STORE_TIMEOUT_MS }
  return {
    timed_out: await inFullBatches(limit, () => timeOutIfAbandoned(sql, timeout, kept)),
    abandoned: await inFullBatches(limit, () => openFinding(parts, kept)),
    // Those that an earlier round has buried, before this one puts others behind them.
    reaped: await inFullBatches(limit, () => deleteIfTombstoned(sql, due)),
    buried: await insertAllTombstones(parts, limit),
    tombstones_deleted: await inFullBatches(limit, () => deleteOldTombstones(sql, old)),
  }
}

/** What is buried already and waits to be deleted is looked at again, and so counts as a batch. */
function insertAllTombstones({ store }: ReaperParts, limit: number): Promise<number> {
  return inBatches<ExpiryCursor>(async (after) => {
    const { buried, next } = await insertTombstones(store.sql, { limit, after })
    return { count: buried, next }
  })
}

/** The finding is opened in the transaction that sees to it that the operation is kept. */
async function openFinding(
  { store, provider, log }: ReaperParts,
  kept: { limit: number; retentionSeconds: number },
): Promise<number> {
  const abandoned = await inTransaction(store.sql, async (tx) => {
    const operations = await keepIfPartlyExecuted(tx, kept)
    await openFindings(
      tx,
      operations.map((operation) => findingOf(provider.name, operation)),
    )
    return operations
  })
  for (const { id } of abandoned)
    log.warn({ operation: id }, 'given up half-way, and never retried')
  return abandoned.length
}

function findingOf(provider: string, operation: AbandonedOperation): NewFinding {
  const { tenantId, id, paymentId, refundId, recoveryPoint, reason } = operation
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
