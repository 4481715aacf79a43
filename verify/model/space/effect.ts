// Defines the effect of one step of a program: what happened to its request, and the program
// afterwards.
import type { Node } from '../programs/automaton.ts'
import type { MemberResult } from '../programs/run.ts'
import type { Work } from '../store/database.ts'
import type { Instance } from './instance.ts'
import type { Budget } from './space.ts'

/** What happens to the request of a program. */
type Act =
  /** It is executed and answered. */
  | 'executed'
  /** The connection is lost before or after its execution. */
  | 'lost'
  /** The statement begins, and is executed later. */
  | 'waits'
  /** The program crashes. */
  | 'crash'

/** The effect of one step. */
export interface Effect {
  readonly label: string
  readonly act: Act
  readonly database: number
  /** `UNCHANGED` if the provider's state stays the same. */
  readonly provider: number
  /** The instance afterwards; undefined if it ended. */
  readonly after: Instance | undefined
  /** The node at which the program ended, unless it crashed. */
  readonly ended: Node | undefined
  /** The members that ended, with their results. */
  readonly results: readonly MemberResult[]
  /** For jobs that ended: the store before pg-boss ended them. */
  readonly databaseWithJob?: number
  readonly keysWithNewEpoch: readonly number[]
  readonly keysWithNewJob: readonly number[]
  readonly cost: keyof Budget | undefined
  /** Whether no fault is involved. */
  readonly isFaultFree: boolean
  /** Violations of invariants by the step itself. */
  readonly violations: readonly string[]
}

/** The part of an effect that does not follow from the answer. */
export type EffectSummary = Pick<Effect, 'label' | 'act' | 'cost' | 'isFaultFree'>

/** Stands for the provider's state before the step. */
export const UNCHANGED = -1

/** The state that an instance shares with the other instances. */
export interface SharedState {
  readonly database: number
  readonly provider: number
  /** The work of the other instances' open transactions. */
  readonly others: readonly Work[]
}

/** The default: executed and answered, without a fault. */
export const FAULT_FREE = { act: 'executed', cost: undefined, isFaultFree: true } as const
/** No further consequences. */
export const NO_CONSEQUENCES = {
  keysWithNewEpoch: [],
  keysWithNewJob: [],
  ended: undefined,
  results: [],
  violations: [],
} as const

/** Two consecutive effects as one transition. */
export function joinEffects(first: Effect, second: Effect): Effect {
  return {
    ...second,
    label: `${first.label}, ${second.label}`,
    act: second.cost === undefined ? first.act : second.act,
    results: [...first.results, ...second.results],
    keysWithNewEpoch: [...first.keysWithNewEpoch, ...second.keysWithNewEpoch],
    keysWithNewJob: [...first.keysWithNewJob, ...second.keysWithNewJob],
    cost: first.cost ?? second.cost,
    isFaultFree: first.isFaultFree && second.isFaultFree,
    violations: [...first.violations, ...second.violations],
  }
}
