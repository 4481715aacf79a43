// The record of a phase: what its call has come to is written, and the recovery point moved on, in one
// transaction that is guarded by lease epoch and recovery point.
import type { Transaction } from '../db/client.ts'
import { advanceIfHeld, finishIfHeld, readOperationState } from '../db/leases.ts'
import { appendPhaseRuns } from '../db/phase-runs.ts'
import { StaleResourceError } from '../db/payments.ts'
import { isRefusedForItsContent, isStoreUnavailable } from '../db/store-errors.ts'
import { inTransaction } from '../db/transaction.ts'
import { renderFinal } from '../domain/stored-response.ts'
import { backoff } from './backoff.ts'
import type { SettledCall } from './call-foreign.ts'
import type { Operation, Recording, Step } from './define-operation.ts'
import type { Engine } from './engine.ts'
import { isOver, LeaseLostError, type Lease } from './lease.ts'

/**
 * Records a phase and advances, in one transaction. When the store fails, what became of the commit
 * is unknown: the row is read again, and the transaction repeated only if it did not happen.
 * Undefined for an answer that the database refuses for what it says, now and on every later try.
 *
 * @throws LeaseLostError when another owner took over; nothing was written.
 */
export async function recordPhase(
  engine: Engine,
  operation: Operation,
  call: SettledCall,
): Promise<Step<string, unknown> | undefined> {
  try {
    return await record(engine, operation, call)
  } catch (error) {
    if (isRefusedForItsContent(error)) return undefined
    throw error
  }
}

async function record(
  engine: Engine,
  operation: Operation,
  call: SettledCall,
): Promise<Step<string, unknown>> {
  const { lease } = call
  // Of the last try that came as far as its commit.
  let step: Step<string, unknown> | undefined
  for (let tries = 1; ; tries += 1) {
    try {
      await inTransaction(engine.store.sql, async (tx) => {
        step = await recordIn(tx, engine, operation, call)
      })
      if (step === undefined) throw new Error('a transaction committed without a step')
      logPhase(engine, call, reachedBy(step))
      return step
    } catch (error) {
      if (step !== undefined && (await hasReached(engine, lease, reachedBy(step)))) return step
      if (!isStoreUnavailable(error) || isOver(engine, lease))
        throw await explained(engine, lease, error)
      engine.log.warn({ err: error, operation: lease.claim.id }, 'recording failed, trying again')
      await engine.clock.sleep(backoff(engine, tries))
    }
  }
}

async function recordIn(
  tx: Transaction,
  engine: Engine,
  operation: Operation,
  { lease, runs, settled }: SettledCall,
): Promise<Step<string, unknown>> {
  const { claim } = lease
  const { LEASE_MS, KEY_RETENTION_SECONDS, IDEMPOTENCY_FLAVOR } = engine.settings
  const step = await recordSettled(tx, operation, lease, settled)
  const reached = reachedBy(step)
  // Sent together: one round trip.
  const [held] = await Promise.all([
    step.kind === 'finish'
      ? finishIfHeld(tx, claim, renderFinal(step.answer, IDEMPOTENCY_FLAVOR), KEY_RETENTION_SECONDS)
      : advanceIfHeld(tx, claim, step.to, LEASE_MS),
    appendPhaseRuns(
      tx,
      claim,
      runs.map((run, index) => (index === runs.length - 1 ? { ...run, reached } : run)),
    ),
  ])
  if (!held) throw new LeaseLostError(claim)
  return step
}

function recordSettled(
  tx: Transaction,
  { phases, name }: Operation,
  { claim, subject }: Lease,
  settled: SettledCall['settled'],
): Promise<Step<string, unknown>> {
  const { recoveryPoint } = claim
  const phase = phases[recoveryPoint]
  if (phase === undefined) throw new Error(`${name} has no recovery point ${recoveryPoint}`)
  const recording = recordingOf(tx, claim)
  if (phase.call === undefined) return phase.record(recording, subject)
  if (settled === undefined) throw new Error(`${name} called nobody from ${recoveryPoint}`)
  return phase.record(recording, subject, settled)
}

export function recordingOf(tx: Transaction, { id, key, fees }: Lease['claim']): Recording {
  return { tx, operationId: id, key, fees }
}

function reachedBy(step: Step<string, unknown>): string {
  return step.kind === 'finish' ? 'finished' : step.to
}

/** Whether our own transaction committed although its acknowledgment never came. */
async function hasReached(engine: Engine, { claim }: Lease, reached: string): Promise<boolean> {
  try {
    const state = await readOperationState(engine.store.sql, claim)
    return state?.leaseEpoch === claim.leaseEpoch && state.recoveryPoint === reached
  } catch (error) {
    // Still out of reach, and so still unknown: the caller repeats the guarded transaction.
    if (isStoreUnavailable(error)) return false
    throw error
  }
}

/** Whoever took over may have moved the resource on already, which is noticed before the lost lease. */
export async function explained(
  { store }: Engine,
  { claim }: Lease,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof StaleResourceError)) return error
  const state = await readOperationState(store.sql, claim)
  const held = state?.status === 'processing' && state.leaseEpoch === claim.leaseEpoch
  return held ? error : new LeaseLostError(claim)
}

function logPhase({ log }: Engine, { lease, runs }: SettledCall, reached: string): void {
  const { id, operation, recoveryPoint, attempt, leaseEpoch } = lease.claim
  const outcome = runs.at(-1)?.outcome?.outcome
  log.info(
    { operation: id, name: operation, attempt, leaseEpoch, outcome },
    `${recoveryPoint} -> ${reached}`,
  )
}
