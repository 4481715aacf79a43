// Sees every point of a lane's run as it is reached, counts it, and has the strikes of the run carried out at
// theirs. Between runs it sees nothing.
import type { Strike } from './case.ts'
import { isByChance, PointCounter, type Place, type Point } from './points.ts'
import { StatementNames } from './statement-names.ts'

/** What is done with the message that the point is about, and with the connection that it is on. */
export type Verdict =
  | { readonly do: 'pass' }
  /** Nothing more passes: the process sees a reset, and the other side the end. */
  | { readonly do: 'reset' }
  /** Nothing more passes: the process is not there any more, and the other side sees the end. */
  | { readonly do: 'end' }
  /** Nothing more passes, and nobody is told. */
  | { readonly do: 'stall' }
  /** Only before a message to the store: the connection stands still until it is known whether to go on. */
  | { readonly do: 'wait'; readonly until: Promise<'pass' | 'end'> }
  /** The store refuses the statement, in place of doing it. */
  | { readonly do: 'refuse'; readonly severity: 'ERROR' | 'FATAL'; readonly sqlState: string }
  /** The store ends the connection of its own accord. */
  | { readonly do: 'terminate'; readonly by: (backendPid: number) => void }
  /** The request waits until the run is over, and is passed on then. */
  | { readonly do: 'hold' }
  /** The provider does to this request what one of its own faults does. */
  | { readonly do: 'misbehave'; readonly fault: string }

/** The statements that a fetch follows. */
const ADDING_JOBS: readonly string[] = ['reserve', 'reopen']
const FETCHING_THEM = 'fetch-operations'

export const PASS: Verdict = { do: 'pass' }

/** Carries out a strike, at its point and at once. */
export type Striker = (strike: Strike, point: Point) => Verdict

export class Watch {
  readonly statements: StatementNames
  #counter: PointCounter | undefined
  #waiting: Strike[] = []
  #seen: Point[] = []
  #strike: Striker = () => PASS
  #struckAt: number[] = []
  /** How many points the run had come to when it was struck last. */
  #seenAtStrike = 0
  #lastSeenAt = 0
  /** An intent is committed, and nobody has begun to look for its job. */
  #isJobDue = false

  /** @param idle what idle processes say, as far as it is known. */
  constructor(idle?: ReadonlySet<string>) {
    this.statements = new StatementNames(idle)
  }

  /** From now on points are counted, and the strikes wait for theirs, one after the other. */
  begin(strikes: readonly Strike[], strike: Striker): void {
    this.#counter = new PointCounter()
    this.#waiting = [...strikes]
    this.#seen = []
    this.#struckAt = []
    this.#seenAtStrike = 0
    this.#strike = strike
    this.#lastSeenAt = performance.now()
    this.#isJobDue = false
  }

  end(): void {
    this.#counter = undefined
    this.#waiting = []
  }

  /** Whether a run is on: between runs nothing is struck. */
  get isCounting(): boolean {
    return this.#counter !== undefined
  }

  reached(place: Place): Verdict {
    if (this.#counter === undefined || !this.#isOfTheRun(place)) return PASS
    const point = this.#counter.count(place)
    if (isByChance(point)) return PASS
    this.#seen.push(point)
    this.#lastSeenAt = performance.now()
    const [next] = this.#waiting
    if (next?.point !== point.label) return PASS
    this.#waiting.shift()
    this.#struckAt.push(performance.now())
    this.#seenAtStrike = this.#seen.length
    return this.#strike(next, point)
  }

  /** Workers look for jobs again and again: it is of the run once, when there is one. */
  #isOfTheRun({ name, way, moment, message }: Place): boolean {
    if (ADDING_JOBS.includes(name) && message === 'CommandComplete') this.#isJobDue = true
    if (!name.startsWith('fetch-') || way === 'in') return true
    if (!this.#isJobDue || name !== FETCHING_THEM) return false
    if (moment === 'after') this.#isJobDue = false
    return true
  }

  /** The points that the run has come to, in their order. */
  get seen(): readonly Point[] {
    return this.#seen
  }

  /** Those that it has come to since it was last struck. */
  get seenInRecovery(): readonly Point[] {
    return this.#seen.slice(this.#seenAtStrike)
  }

  /** When each strike struck, by the clock of `performance`. */
  get struckAt(): readonly number[] {
    return this.#struckAt
  }

  /** Whether every strike has found its point. */
  get isSpent(): boolean {
    return this.#waiting.length === 0
  }

  /** How long no point was reached. */
  get quietMs(): number {
    return performance.now() - this.#lastSeenAt
  }
}
