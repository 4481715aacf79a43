// Claims an operation whose outcome is unknown, to record what was found, or marks it as failed when its
// call counts as not executed. Both act only if it has not changed since it was seen.
import type { Fence } from '../db/operations/fence.ts'
import { dropFallbackIfOwner, giveBackIfOwner, type Claim } from '../db/operations/leases.ts'
import { readOperation } from '../db/operations/operation-rows.ts'
import { appendPhaseRuns, type PhaseRun } from '../db/operations/phase-runs.ts'
import { inTenant } from '../db/connection/transaction.ts'
import { claimIfUnknown, giveBackInDoubtIfOwner } from '../db/operations/unknown-outcomes.ts'
import type { Transaction } from '../db/connection/client.ts'
import { retentionOf, type KeyRetention } from '../domain/idempotency/retention.ts'
import { operationNamed, type Engine } from '../engine/engine.ts'
import { LeaseLostError } from '../engine/lease.ts'

/** The parts of an engine that the API has as well. */
export interface ResolverParts extends Pick<Engine, 'operations'> {
  readonly settings: Pick<Engine['settings'], 'LEASE_MS' | keyof KeyRetention>
}

/**
 * Claims the operation and marks its resource as resumed; undefined when the operation is not
 * unknown.
 */
export async function claimUnknown(
  tx: Transaction,
  engine: ResolverParts,
  seen: Fence,
): Promise<Claim | undefined> {
  const claim = await claimIfUnknown(tx, seen, engine.settings.LEASE_MS)
  if (claim === undefined) return undefined
  const operation = operationNamed(engine, claim.operation)
  const marking = { tx, key: claim.key }
  await operation.markResumed(marking, operation.subject(claim))
  // Read again, because marking has changed the resource.
  return await readOperation(tx, claim)
}

/**
 * Marks an operation as failed whose call counts as not executed; its client's next retry runs it
 * again. Returns false when the operation is no longer unknown, or has changed since it was seen.
 *
 * @param options.runs the look-ups that show it.
 * @param options.keepsDoubt whether it may have been executed nevertheless.
 * @param options.record what else to record in the same transaction.
 */
export async function markAbsent(
  engine: ResolverParts & Pick<Engine, 'store'>,
  seen: Fence,
  reason: string,
  options: {
    readonly runs?: readonly PhaseRun[]
    readonly keepsDoubt?: boolean
    readonly record?: (tx: Transaction) => Promise<void>
  } = {},
): Promise<boolean> {
  const { runs = [], keepsDoubt = false, record } = options
  return await inTenant(engine.store.sql, seen.tenantId, async (tx) => {
    const claim = await claimUnknown(tx, engine, seen)
    if (claim === undefined) return false
    const operation = operationNamed(engine, claim.operation)
    const marking = { tx, key: claim.key }
    await operation.markFailed(marking, operation.subject(claim))
    const status = 'failed_retryable'
    // After a long doubt the client may retry as long as after any other answer.
    const retentionSeconds = retentionOf(engine.settings, claim.operation)
    const to = { status, inDoubt: false, reason, retentionSeconds, checkDelaysSeconds: [] } as const
    await dropFallbackIfOwner(tx, claim)
    const isGivenBack = keepsDoubt
      ? await giveBackInDoubtIfOwner(tx, claim, { reason, retentionSeconds })
      : await giveBackIfOwner(tx, claim, to)
    if (!isGivenBack) throw new LeaseLostError(claim)
    await appendPhaseRuns(tx, [{ owner: claim, runs }])
    await record?.(tx)
    return true
  })
}
