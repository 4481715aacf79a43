// Computes the step that follows a final outcome, and the record that is written with it. The local
// phases that follow are part of the same step, because they need no commit of their own.
import { withChange, type PhaseRecord } from '../db/operations/phase-records.ts'
import type { PhaseRun } from '../db/operations/phase-runs.ts'
import type { FinalCall } from './call.ts'
import type { Operation, Step } from './define-operation.ts'
import type { Clock } from './clock.ts'

type CallResult = Pick<FinalCall, 'lease' | 'runs' | 'outcome'>

export interface RecordedStep {
  /** The last step, when there are several recovery points. */
  readonly step: Step<string, unknown>
  /** The record of all of them. */
  readonly record: PhaseRecord
}

/** The step of the phase with the call, extended by the local phases that follow. */
export function nextStep(
  clock: Pick<Clock, 'now'>,
  operation: Operation,
  call: CallResult,
): RecordedStep {
  let step = stepOf(operation, call)
  let { writes } = step
  const runs = reaching(call.runs, step)
  while (step.kind === 'advance') {
    const { to: phase, subject } = step
    const next = operation.phases[phase]
    if (next === undefined || next.call !== undefined) break
    const localStep = next.record(subject)
    // An announced event contains the payment as the transaction before left it.
    if ((localStep.writes.announces ?? writes.announces) !== undefined) break
    runs.push({ phase, reached: reachedBy(localStep), outcome: undefined, startedAt: clock.now() })
    writes = withChange(writes, localStep.writes)
    step = localStep
  }
  return { step, record: { runs, writes } }
}

/** The last try is the one that led to the step. */
function reaching(tries: readonly PhaseRun[], step: Step<string, unknown>): PhaseRun[] {
  const last = tries.length - 1
  return tries.map((run, index) => (index === last ? { ...run, reached: reachedBy(step) } : run))
}

function stepOf(
  { phases, name }: Operation,
  { lease, outcome }: CallResult,
): Step<string, unknown> {
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

export function reachedBy(step: Step<string, unknown>): string {
  return step.kind === 'finish' ? 'finished' : step.to
}
