// The results of the provider call of a phase, for the step that follows it, and whether that step goes
// on elsewhere.
import type { PhaseRun } from '../db/operations/phase-runs.ts'
import type { FinalOutcome, NotExecuted } from '../domain/operations/outcome.ts'
import type { Operation } from './define-operation.ts'
import type { Engine } from './engine.ts'
import type { Lease } from './lease.ts'
import { providerOf } from './provider-call.ts'

/** The result of a phase's provider call, with every try for the timeline. */
export type Call =
  | {
      readonly kind: 'final'
      readonly lease: Lease
      readonly runs: readonly PhaseRun[]
      /**
       * Undefined in a phase without a provider call. `not_executed`: the operation goes on
       * elsewhere.
       */
      readonly outcome: FinalOutcome<unknown> | NotExecuted | undefined
    }
  | {
      readonly kind: 'open'
      readonly lease: Lease
      readonly runs: readonly PhaseRun[]
      /** Whether any call of this phase may have run, under this or an earlier owner. */
      readonly inDoubt: boolean
      readonly reason: string
      /** Whether to give up, even if the job has retries left. */
      readonly givesUp: boolean
    }
  | InterruptedCall

export type FinalCall = Extract<Call, { kind: 'final' }>
export type OpenCall = Extract<Call, { kind: 'open' }>

/** The process shuts down before the call ends, or before it is made. Another worker continues. */
export interface InterruptedCall {
  readonly kind: 'interrupted'
  readonly lease: Lease
  readonly runs: readonly PhaseRun[]
  readonly inDoubt: boolean
}

/**
 * Whether an operation goes on elsewhere: only when each try was proved not executed, also those of
 * earlier owners, so that no call can have an effect at both places. An adapter that refuses to act
 * on one object says nothing about an earlier call on it. A process without one of the two providers
 * leaves the operation to one that has both.
 */
export function elsewhereIfProved(engine: Engine, { phases }: Operation, call: Call): Call {
  if (call.kind !== 'open' || call.inDoubt) return call
  const { lease, runs } = call
  const last = runs.at(-1)?.outcome
  if (last?.outcome !== 'not_executed' || last.aboutObject === true) return call
  const step = phases[lease.claim.recoveryPoint]?.elsewhere?.(lease.subject)
  if (step?.kind !== 'advance') return call
  const { all } = engine.providers
  const hasBoth = [lease.subject, step.subject].every((at) => all.includes(providerOf(engine, at)))
  return hasBoth ? { kind: 'final', lease, runs, outcome: last } : call
}
