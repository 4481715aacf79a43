// What one program has done: what has become of what it asked for, and of the program.
import type { Node } from '../programs/automaton.ts'
import type { Answer } from '../programs/requests.ts'
import type { Work } from '../store/database.ts'
import type { Instance } from './instance.ts'
import type { Budget } from './space.ts'

/** What becomes of what a program asks for: how it is carried out on another store. */
export type Act =
  /** It is, and answered. */
  | 'executed'
  /** It is, and the answer is lost. */
  | 'executed_answer_lost'
  /** It is not, and the connection is lost. */
  | 'not_executed'
  /** So it is with the end of its transaction; everything before it is carried out. */
  | 'end_executed_answer_lost'
  | 'end_not_executed'
  /** It begins, and has to wait. */
  | 'waits'
  /** It begins, and is executed later. */
  | 'begins'
  /** The program ends at once. */
  | 'crash'
  /** It is, and the program ends before its job is settled. */
  | 'crash_before_job_end'

/** What one program has done, and what it is now. */
export interface Effect {
  readonly label: string
  readonly act: Act
  /** What a call was answered. */
  readonly answer: Answer | undefined
  readonly database: number
  /** `AS_BEFORE` when nothing has become of it. */
  readonly provider: number
  /** Undefined: it has ended. */
  readonly after: Instance | undefined
  /** Where it ended by itself. */
  readonly ended: Node | undefined
  /** The store before the job was settled of a worker that has ended. */
  readonly databaseWithJob?: number
  readonly keysWithNewEpoch: readonly number[]
  readonly keysWithNewJob: readonly number[]
  readonly cost: keyof Budget | undefined
  /** Nothing has gone wrong. */
  readonly isFaultFree: boolean
  /** Rules that it has broken by itself. */
  readonly broken: readonly string[]
}

/** What is said of an effect by whoever brings it about. */
export type EffectSummary = Pick<Effect, 'label' | 'act' | 'cost' | 'isFaultFree'>

/** The provider that was there before. */
export const UNCHANGED = -1

/** Where a program stands, and what it finds there. */
export interface SharedState {
  readonly database: number
  readonly provider: number
  /** What the open transactions of the others have. */
  readonly others: readonly Work[]
}

/** Nothing goes wrong. */
export const FAULT_FREE = { act: 'executed', cost: undefined, isFaultFree: true } as const
/** Nothing else comes of it. */
export const NO_CONSEQUENCES = {
  keysWithNewEpoch: [],
  keysWithNewJob: [],
  ended: undefined,
  answer: undefined,
  broken: [],
} as const

/** Two things that are done in one move. */
export function joinEffects(first: Effect, second: Effect): Effect {
  return {
    ...second,
    label: `${first.label}, ${second.label}`,
    act: second.cost === undefined ? first.act : second.act,
    answer: first.answer,
    keysWithNewEpoch: [...first.keysWithNewEpoch, ...second.keysWithNewEpoch],
    keysWithNewJob: [...first.keysWithNewJob, ...second.keysWithNewJob],
    cost: first.cost ?? second.cost,
    isFaultFree: first.isFaultFree && second.isFaultFree,
    broken: [...first.broken, ...second.broken],
  }
}
