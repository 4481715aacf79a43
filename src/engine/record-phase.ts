// Records a phase: writes the outcome of its provider call and advances the recovery point, in one
// transaction that is fenced by lease epoch and recovery point.
import { readOperationState } from '../db/operations/operation-rows.ts'
import type {
  PhaseRecord,
  RecordedMove,
  ResourceChange,
  Writes,
} from '../db/operations/record-phases.ts'
import { isRefusedForItsContent, isStoreUnavailable } from '../db/connection/store-errors.ts'
import { retentionOf } from '../domain/idempotency/idempotency-key.ts'
import { renderFinal } from '../domain/operations/stored-response.ts'
import type { FinalCall } from './call-provider.ts'
import type { Operation, Step } from './define-operation.ts'
import { type Engine, type EngineSettings, backoff, type Clock } from './engine.ts'
import { isOver, LeaseLostError, type Lease } from './lease.ts'
import type { PhaseRun } from '../db/operations/phase-runs.ts'

/**
 * Records a phase and advances, in one transaction. When the store fails, it is unknown whether it was
 * committed: the row is read again, and the transaction is repeated unless the row shows it.
 * Returns undefined when the database refuses the content of the answer, because it would refuse it
 * on every later try, too.
 *
 * @throws LeaseLostError when another owner took over; nothing was written.
 */
export async function recordPhase(
  engine: Engine,
  operation: Operation,
  call: FinalCall,
): Promise<Step<string, unknown> | undefined> {
  const recorded = nextStep(engine.clock, operation, call)
  try {
    await recordUntilKnown(engine, call, recorded)
  } catch (error) {
    if (isRefusedForItsContent(error)) return undefined
    throw error
  }
  for (const type of eventTypesOf(recorded.record.writes)) engine.observe.insertedEvents(type, 1)
  return recorded.step
}

/** The types of the events that the record inserts. */
function eventTypesOf({ payment, refund, dispute, announces }: Writes): readonly string[] {
  const changes = Object.entries({ payment, refund }).flatMap(([kind, changed]) =>
    changed === undefined || changed.status === changed.previousStatus
      ? []
      : `${kind}.${changed.status}`,
  )
  return [...changes, ...(dispute?.events ?? []), ...(announces === undefined ? [] : [announces])]
}

async function recordUntilKnown(
  engine: Engine,
  { lease }: FinalCall,
  { step, record }: RecordedStep,
): Promise<void> {
  const { claim } = lease
  const reached = reachedBy(step)
  const move = moveOf(engine.settings, claim.operation, step)
  for (let tries = 1; ; tries += 1) {
    try {
      if (!(await engine.record(engine.store.sql, { claim, move, record }))) {
        throw new LeaseLostError(claim)
      }
      logPhase(engine, lease, record)
      return
    } catch (error) {
      // Our own first try may have moved the row on, so that this one was not its owner any more.
      if (await hasReached(engine, lease, reached)) return
      if (!isStoreUnavailable(error) || isOver(engine, lease)) throw error
      engine.log.warn({ err: error, operation: claim.id }, 'recording failed; retrying')
      await engine.clock.sleep(backoff(engine, tries))
    }
  }
}

/** How the operation goes on after the step. A final answer is rendered as its client gets it. */
function moveOf(
  settings: EngineSettings,
  operation: string,
  step: Step<string, unknown>,
): RecordedMove {
  const { LEASE_MS, IDEMPOTENCY_FLAVOR } = settings
  if (step.kind === 'advance') return { kind: 'advance', to: step.to, leaseMs: LEASE_MS }
  const response = renderFinal(step.answer, IDEMPOTENCY_FLAVOR)
  return { kind: 'finish', response, retentionSeconds: retentionOf(settings, operation) }
}

/** Whether our own statement was committed although its acknowledgment was lost. */
async function hasReached(engine: Engine, { claim }: Lease, reached: string): Promise<boolean> {
  try {
    const state = await readOperationState(engine.store.sql, claim)
    return state?.leaseEpoch === claim.leaseEpoch && state.recoveryPoint === reached
  } catch (error) {
    // The store is still unavailable, so this is still unknown. The caller repeats the fenced
    // transaction.
    if (isStoreUnavailable(error)) return false
    throw error
  }
}

function logPhase({ log }: Engine, { claim }: Lease, { tries }: PhaseRecord): void {
  const { id, operation, attempt, leaseEpoch } = claim
  for (const { phase, reached, outcome } of tries) {
    if (reached === null) continue
    log.info(
      { operation: id, type: operation, attempt, leaseEpoch, outcome: outcome?.outcome },
      `${phase} -> ${reached}`,
    )
  }
}

interface RecordedStep {
  /** The last step, when there are several recovery points. */
  readonly step: Step<string, unknown>
  /** The record of all of them. */
  readonly record: PhaseRecord
}

/**
 * The step of the phase with the call, extended by the local phases that follow: they need no commit of
 * their own.
 */
function nextStep(clock: Pick<Clock, 'now'>, operation: Operation, call: FinalCall): RecordedStep {
  let step = stepOf(operation, call)
  let { writes } = step
  const tries = reaching(call.tries, step)
  while (step.kind === 'advance') {
    const { to: phase, subject } = step
    const next = operation.phases[phase]
    if (next === undefined || next.call !== undefined) break
    const localStep = next.record(subject)
    if (isApart(localStep.writes) || isApart(writes)) break
    tries.push({ phase, reached: reachedBy(localStep), outcome: undefined, startedAt: clock.now() })
    writes = withChange(writes, localStep.writes)
    step = localStep
  }
  return { step, record: { tries, writes } }
}

/**
 * Adds the change of the next phase to the writes. Both become one change of the row, starting from
 * the status before the first.
 */
export function withChange(writes: Writes, { payment, refund }: ResourceChange): Writes {
  const { payment: paid, refund: given, ...rest } = writes
  const { dispute: _, announces: _announces, stores: _stores, ...others } = rest
  if (payment !== undefined) {
    const { previousStatus } = paid ?? payment
    return { ...others, payment: { ...payment, previousStatus } }
  }
  if (refund === undefined) return writes
  const { previousStatus } = given ?? refund
  return { ...others, refund: { ...refund, previousStatus } }
}

/** Whether it has a transaction of its own: an event contains the payment as the one before left it. */
const isApart = ({ announces, stores }: Writes) => announces !== undefined || stores !== undefined

/** The last try is the one that led to the step. */
function reaching(tries: readonly PhaseRun[], step: Step<string, unknown>): PhaseRun[] {
  const last = tries.length - 1
  return tries.map((one, index) => (index === last ? { ...one, reached: reachedBy(step) } : one))
}

function stepOf({ phases, name }: Operation, { lease, outcome }: FinalCall): Step<string, unknown> {
  const { claim, subject } = lease
  const { recoveryPoint, fees } = claim
  const phase = phases[recoveryPoint]
  if (phase === undefined) throw new Error(`${name} has no recovery point ${recoveryPoint}`)
  if (phase.call === undefined) return phase.record(subject)
  if (outcome === undefined) throw new Error(`${name} made no call from ${recoveryPoint}`)
  if (outcome.outcome !== 'not_executed') return phase.record(subject, outcome, fees)
  const step = phase.elsewhere?.(subject)
  if (step === undefined) throw new Error(`${name} goes nowhere else from ${recoveryPoint}`)
  return step
}

function reachedBy(step: Step<string, unknown>): string {
  return step.kind === 'finish' ? 'finished' : step.to
}
