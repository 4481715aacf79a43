// The record of a phase: what its call has come to is written, and the recovery point moved on, in one
// statement that is guarded by lease epoch and recovery point.
import { readOperationState } from '../db/leases.ts'
import { advanceIfHeld, finishIfHeld } from '../db/phase-records.ts'
import { isRefusedForItsContent, isStoreUnavailable } from '../db/store-errors.ts'
import { renderFinal } from '../domain/stored-response.ts'
import { backoff } from './backoff.ts'
import type { SettledCall } from './call-foreign.ts'
import type { Operation, Step } from './define-operation.ts'
import type { Engine } from './engine.ts'
import { isOver, LeaseLostError, type Lease } from './lease.ts'

/**
 * Records a phase and advances, in one statement. When the store fails, what became of the statement
 * is unknown: the row is read again, and the statement repeated only if it did not happen.
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
    return await recordUntilKnown(engine, operation, call)
  } catch (error) {
    if (isRefusedForItsContent(error)) return undefined
    throw error
  }
}

async function recordUntilKnown(
  engine: Engine,
  operation: Operation,
  call: SettledCall,
): Promise<Step<string, unknown>> {
  const { lease } = call
  const step = stepOf(operation, call)
  const reached = reachedBy(step)
  for (let tries = 1; ; tries += 1) {
    try {
      if (!(await writeIfHeld(engine, call, step))) throw new LeaseLostError(lease.claim)
      logPhase(engine, call, reached)
      return step
    } catch (error) {
      if (await hasReached(engine, lease, reached)) return step
      if (!isStoreUnavailable(error) || isOver(engine, lease)) throw error
      engine.log.warn({ err: error, operation: lease.claim.id }, 'recording failed, trying again')
      await engine.clock.sleep(backoff(engine, tries))
    }
  }
}

function stepOf(
  { phases, name }: Operation,
  { lease, settled }: SettledCall,
): Step<string, unknown> {
  const { claim, subject } = lease
  const { recoveryPoint, fees } = claim
  const phase = phases[recoveryPoint]
  if (phase === undefined) throw new Error(`${name} has no recovery point ${recoveryPoint}`)
  if (phase.call === undefined) return phase.record(subject)
  if (settled === undefined) throw new Error(`${name} called nobody from ${recoveryPoint}`)
  return phase.record(subject, settled, fees)
}

function writeIfHeld(
  { store, settings }: Engine,
  { lease, runs }: SettledCall,
  step: Step<string, unknown>,
): Promise<boolean> {
  const { LEASE_MS, KEY_RETENTION_SECONDS, IDEMPOTENCY_FLAVOR } = settings
  const { claim } = lease
  const reached = reachedBy(step)
  const last = runs.length - 1
  const record = {
    runs: runs.map((run, index) => (index === last ? { ...run, reached } : run)),
    writes: step.writes,
  }
  if (step.kind === 'advance') return advanceIfHeld(store.sql, claim, step.to, LEASE_MS, record)
  const response = renderFinal(step.answer, IDEMPOTENCY_FLAVOR)
  return finishIfHeld(store.sql, claim, response, KEY_RETENTION_SECONDS, record)
}

function reachedBy(step: Step<string, unknown>): string {
  return step.kind === 'finish' ? 'finished' : step.to
}

/** Whether our own statement committed although its acknowledgment never came. */
async function hasReached(engine: Engine, { claim }: Lease, reached: string): Promise<boolean> {
  try {
    const state = await readOperationState(engine.store.sql, claim)
    return state?.leaseEpoch === claim.leaseEpoch && state.recoveryPoint === reached
  } catch (error) {
    // Still out of reach, and so still unknown: the caller repeats the guarded statement.
    if (isStoreUnavailable(error)) return false
    throw error
  }
}

function logPhase({ log }: Engine, { lease, runs }: SettledCall, reached: string): void {
  const { id, operation, recoveryPoint, attempt, leaseEpoch } = lease.claim
  const outcome = runs.at(-1)?.outcome?.outcome
  log.info(
    { operation: id, name: operation, attempt, leaseEpoch, outcome },
    `${recoveryPoint} -> ${reached}`,
  )
}
