// A move from one state to another: what is done, by whom, and what is wrong with it.
import type { State } from './state.ts'
import type { Effect } from './effect.ts'

export interface Transition {
  readonly state: State
  /** Which move is made first when nothing goes wrong any more; infinite for what goes wrong. */
  readonly rank: number
  /** Rules that the move itself breaks. */
  readonly broken: readonly string[]
  readonly action: Action
  readonly describe: () => string
}

/** What a move does, for whoever does the same on another store. */
export type Action =
  | {
      readonly kind: 'step'
      /** Whether the program begins with it. */
      readonly begins: boolean
      readonly before: number
      readonly effect: Effect
      /** Undefined: it has ended. */
      readonly after: number | undefined
    }
  | { readonly kind: 'time'; readonly key: number }
  | { readonly kind: 'arrival' }

/** The order in which what is left is brought to its end. */
export const RANK = { step: 0, expiry: 1, work: 2, sweep: 3, check: 4, send: 5, time: 6 } as const
export const NEVER = Number.POSITIVE_INFINITY
