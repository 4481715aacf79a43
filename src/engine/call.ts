// The results of the provider call of a phase, for the step that follows it.
import type { PhaseRun } from '../db/operations/phase-runs.ts'
import type { FinalOutcome } from '../domain/operations/outcome.ts'
import type { Lease } from './lease.ts'

/** The result of a phase's provider call, with every try for the timeline. */
export type Call =
  | {
      readonly kind: 'final'
      readonly lease: Lease
      readonly runs: readonly PhaseRun[]
      /** Undefined in a phase without a provider call. */
      readonly outcome: FinalOutcome<unknown> | undefined
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
