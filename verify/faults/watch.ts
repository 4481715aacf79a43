// Watches the points of a lane's run: records each point that is reached, and injects the faults of
// the run at theirs. Between runs it does nothing.
import type { Strike } from './case.ts'
import { isByChance, PointCounter, type Place, type Point } from './points.ts'
import { StatementNames } from './statement-names.ts'

/** What a proxy does with the message of a point, and with its connection. */
export type Verdict =
  | { readonly do: 'pass' }
  /** Nothing more passes: the process sees a reset, the other side a normal end. */
  | { readonly do: 'reset' }
  /** Nothing more passes: the process is gone, and the other side sees a normal end. */
  | { readonly do: 'end' }
  /** Nothing more passes, and neither side is notified. */
  | { readonly do: 'stall' }
  /** Only before a message to the store: the connection waits for the decision. */
  | { readonly do: 'wait'; readonly until: Promise<'pass' | 'end'> }
  /** The store rejects the statement and does not execute it. */
  | { readonly do: 'refuse'; readonly severity: 'ERROR' | 'FATAL'; readonly sqlState: string }
  /** The store ends the connection itself. */
  | { readonly do: 'terminate'; readonly by: (backendPid: number) => void }
  /** The request is passed on when the run is over. */
  | { readonly do: 'hold' }
  /** The Stripe stand-in applies one of its own faults to this request. */
  | { readonly do: 'misbehave'; readonly fault: string }

/** The statements that are followed by a fetch of the job. */
const ADDING_JOBS: readonly string[] = ['reserve', 'reopen']
const FETCHING_THEM = 'fetch-operations'

export const PASS: Verdict = { do: 'pass' }

/** Injects a fault at its point, synchronously. */
export type Striker = (strike: Strike, point: Point) => Verdict

export class Watch {
  readonly statements: StatementNames
  #counter: PointCounter | undefined
  #waiting: Strike[] = []
  #seen: Point[] = []
  #strike: Striker = () => PASS
  #struckAt: number[] = []
  /** How many points the run had reached when the last fault was injected. */
  #seenAtStrike = 0
  #lastSeenAt = 0
  /** An operation is committed, and no worker has begun to look for its job. */
  #isJobDue = false

  /** @param idle the statements of idle processes, if they are known. */
  constructor(idle?: ReadonlySet<string>) {
    this.statements = new StatementNames(idle)
  }

  /** From now on points are recorded, and faults are injected at theirs, one after the other. */
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

  /** Whether a run is in progress. */
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

  /**
   * Workers poll for jobs all the time. One poll belongs to the run: the first after a job exists.
   */
  #isOfTheRun({ name, way, moment, message }: Place): boolean {
    if (ADDING_JOBS.includes(name) && message === 'CommandComplete') this.#isJobDue = true
    if (!name.startsWith('fetch-') || way === 'in') return true
    if (!this.#isJobDue || name !== FETCHING_THEM) return false
    if (moment === 'after') this.#isJobDue = false
    return true
  }

  /** The points that the run reached, in order. */
  get seen(): readonly Point[] {
    return this.#seen
  }

  /** The points that it reached after the last fault. */
  get seenInRecovery(): readonly Point[] {
    return this.#seen.slice(this.#seenAtStrike)
  }

  /** When each fault was injected, by the clock of `performance`. */
  get struckAt(): readonly number[] {
    return this.#struckAt
  }

  /** Whether every fault was injected. */
  get isSpent(): boolean {
    return this.#waiting.length === 0
  }

  /** For how long no point was reached. */
  get quietMs(): number {
    return performance.now() - this.#lastSeenAt
  }
}
