// Watches the points of a lane's run: records each point that is reached, and injects the faults of
// the run at theirs. Between runs it does nothing.
import type { Injection } from './results.ts'
import type { Place, Point } from './points.ts'
import { commitOf, isNondeterministic, PointCounter, StatementNames } from './points.ts'

/** What a proxy does with the message of a point, and with its connection. */
export type Action =
  | { readonly do: 'pass' }
  /** Nothing more passes: the process sees a reset, the other side a normal end. */
  | { readonly do: 'reset' }
  /** Nothing more passes: the process is gone, and the other side sees a normal end. */
  | { readonly do: 'end' }
  /** Nothing more passes, and neither side is notified. */
  | { readonly do: 'stall' }
  /** Only before a message to the store, or at the server of an extra: the connection waits for the decision. */
  | { readonly do: 'wait'; readonly until: Promise<'pass' | 'end'> }
  /** The store rejects the statement and does not execute it. */
  | { readonly do: 'refuse'; readonly severity: 'ERROR' | 'FATAL'; readonly sqlState: string }
  /** The store ends the connection itself. */
  | { readonly do: 'terminate'; readonly by: (backendPid: number) => void }
  /** The request is passed on when the run is over. */
  | { readonly do: 'defer' }
  /** The Stripe stand-in applies one of its own faults to this request. */
  | { readonly do: 'misbehave'; readonly fault: string; readonly delayMs?: number }

/** The commits that are followed by a fetch of the job. */
const ADDING_JOBS = ['reserve', 'reopen'].map(commitOf)
const FETCH = 'fetch-operations'

export const PASS: Action = { do: 'pass' }

/** Injects a fault at its point, synchronously. */
export type Inject = (injection: Injection, point: Point) => Action

export class Watch {
  readonly statements: StatementNames
  #counter: PointCounter | undefined
  #pending: Injection[] = []
  #points: Point[] = []
  #inject: Inject = () => PASS
  #injectedAt: number[] = []
  /** How many points the run had reached when the last fault was injected. */
  #pointsAtInjection = 0
  #lastPointAt = 0
  /** An operation is committed, and no worker has begun to look for its job. */
  #isJobDue = false

  /** @param idle the statements of idle processes, if they are known. */
  constructor(idle?: ReadonlySet<string>) {
    this.statements = new StatementNames(idle)
  }

  /** From now on points are recorded, and faults are injected at theirs, one after the other. */
  begin(injections: readonly Injection[], inject: Inject): void {
    this.#counter = new PointCounter()
    this.#pending = [...injections]
    this.#points = []
    this.#injectedAt = []
    this.#pointsAtInjection = 0
    this.#inject = inject
    this.#lastPointAt = performance.now()
    this.#isJobDue = false
  }

  end(): void {
    this.#counter = undefined
    this.#pending = []
  }

  /** Whether a run is in progress. */
  get isCounting(): boolean {
    return this.#counter !== undefined
  }

  reached(place: Place): Action {
    if (this.#counter === undefined || !this.#belongsToRun(place)) return PASS
    const point = this.#counter.count(place)
    if (isNondeterministic(point)) return PASS
    this.#points.push(point)
    this.#lastPointAt = performance.now()
    const [next] = this.#pending
    if (next?.point !== point.label) return PASS
    this.#pending.shift()
    this.#injectedAt.push(performance.now())
    this.#pointsAtInjection = this.#points.length
    return this.#inject(next, point)
  }

  /**
   * Workers poll for jobs all the time. One poll belongs to the run: the first after a job exists.
   */
  #belongsToRun({ name, direction, moment, message }: Place): boolean {
    if (ADDING_JOBS.includes(name) && message === 'ReadyForQuery') this.#isJobDue = true
    if (!name.startsWith('fetch-') || direction === 'in') return true
    if (!this.#isJobDue || name !== FETCH) return false
    if (moment === 'after') this.#isJobDue = false
    return true
  }

  /** The points that the run reached, in order. */
  get points(): readonly Point[] {
    return this.#points
  }

  /** The points that it reached after the last fault. */
  get pointsInRecovery(): readonly Point[] {
    return this.#points.slice(this.#pointsAtInjection)
  }

  /** When each fault was injected, by the clock of `performance`. */
  get injectedAt(): readonly number[] {
    return this.#injectedAt
  }

  /** Whether every fault was injected. */
  get isComplete(): boolean {
    return this.#pending.length === 0
  }

  /** For how long no point was reached. */
  get quietMs(): number {
    return performance.now() - this.#lastPointAt
  }
}
