// Defines a transition from one state to another.
import type { State } from './state.ts'

export interface Transition {
  readonly state: State
  /**
   * Priority in the fault-free run: the lowest rank goes first. Infinite for transitions that are
   * not part of it.
   */
  readonly rank: number
  /** Violations by the transition itself. */
  readonly violations: readonly string[]
  readonly describe: () => string
}

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
