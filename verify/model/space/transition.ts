// Defines a transition from one state to another.
import type { State } from './state.ts'
import type { Effect } from './effect.ts'

export interface Transition {
  readonly state: State
  /**
   * Priority in the fault-free run: the lowest rank goes first. Infinite for transitions that are
   * not part of it.
   */
  readonly rank: number
  /** Violations by the transition itself. */
  readonly violations: readonly string[]
  readonly action: Action
  readonly describe: () => string
}

/** What a transition does, so that a replay can do the same on PostgreSQL. */
type Action =
  | {
      readonly kind: 'step'
      /** Whether the program starts with this step. */
      readonly isStart: boolean
      readonly before: number
      readonly effect: Effect
      /** The instance afterwards; undefined if it ended. */
      readonly after: number | undefined
    }
  | { readonly kind: 'time'; readonly key: number }
  | { readonly kind: 'arrival' }

/** The order in which the fault-free run completes the remaining work. */
export const RANK = {
  step: 0,
  expiry: 1,
  work: 2,
  sweep: 3,
  check: 4,
  send: 5,
  time: 6,
  // An event that must wait changes nothing, so everything else comes before it.
  apply: 7,
  /** Last: the job of an operation that is gone finds nothing to do, again and again. */
  oldWork: 8,
} as const
export const NEVER = Number.POSITIVE_INFINITY
