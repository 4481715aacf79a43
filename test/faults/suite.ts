// Makes the runs of a plan on several lanes at once: first each scenario is counted, then every run is made,
// and what each has come to is given back.
import type { Progress } from '../../bench/progress.ts'
import { Bystander } from './bystander.ts'
import { labelOf, type Case } from './case.ts'
import type { Ground } from './ground.ts'
import type { Lane, LaneOptions } from './lane.ts'
import type { CountedScenario } from './plan.ts'
import type { RunResult } from './results.ts'
import { hasPassed } from './results.ts'
import { runCase, type Run } from './run-case.ts'

export interface SuiteOptions {
  readonly ground: Ground
  readonly progress: Progress
  /** Aborted when no more is wanted. */
  readonly signal: AbortSignal
  readonly lanes: number
  /** Where the product's scripts are, and settings of its processes. */
  readonly product: Pick<LaneOptions, 'root' | 'settings'>
  /** The name of the mutant that the product is, if it is one. */
  readonly mutant?: string
}

/** The order of concurrent messages may hide a point for once. */
const TRIES = 3

/** A lane, and who lives on it beside the runs. */
interface Place {
  readonly lane: Lane
  readonly bystander: Bystander
}

export class Suite {
  readonly #options: SuiteOptions
  /** Those that nobody uses now. */
  readonly #free: Place[] = []

  constructor(options: SuiteOptions) {
    this.#options = options
  }

  /** Counts the points of each scenario. A counting run that breaks an invariant is a result of its own. */
  async count(
    scenarios: readonly string[],
  ): Promise<{ counted: CountedScenario[]; failed: RunResult[] }> {
    const cases = scenarios.map((scenario): Case => ({ scenario, strikes: [] }))
    const runs = await this.#makeAll(cases, 'Counting points')
    return {
      counted: runs.map(({ result, points }) => ({ scenario: result.scenario, points })),
      failed: runs.map(({ result }) => result).filter((result) => !hasPassed(result)),
    }
  }

  async run(cases: readonly Case[]): Promise<RunResult[]> {
    return (await this.#makeAll(cases, 'Runs')).map(({ result }) => result)
  }

  /** In the order of the cases. An aborted suite has made the first of them only. */
  async #makeAll(cases: readonly Case[], what: string): Promise<Run[]> {
    const { lanes, progress, signal } = this.#options
    const runs: Run[] = []
    const queue = cases.entries()
    const made = progress.begin(what, cases.length)
    let count = 0
    const work = async () => {
      let place: Place | undefined
      for (const [index, run] of queue) {
        if (signal.aborted) return
        place ??= await this.#place()
        const done = await this.#make(place, run)
        if (signal.aborted) return
        runs[index] = done
        made((count += 1))
        if (hasPassed(done.result)) continue
        this.#report(done.result)
        // What a failed run has left behind is no concern of the next one.
        await place.lane.remove()
        place = undefined
      }
      if (place !== undefined) this.#free.push(place)
    }
    await Promise.all(Array.from({ length: Math.min(lanes, cases.length) }, work))
    return runs.filter((run) => run !== undefined)
  }

  async #place(): Promise<Place> {
    const free = this.#free.pop()
    if (free !== undefined) return free
    const { ground, product, signal } = this.#options
    const lane = await ground.startLane(product)
    return { lane, bystander: await Bystander.create(lane, signal) }
  }

  /** A point that is not reached shows nothing, and is tried for again. */
  async #make(place: Place, run: Case): Promise<Run> {
    for (let tries = 1; ; tries += 1) {
      const made = await this.#makeOnce(place, run)
      const { struck, faults, violations } = made.result
      const isMissed = struck < faults.length && violations.length === 0
      if (!isMissed || tries === TRIES || this.#options.signal.aborted) return made
    }
  }

  async #makeOnce(place: Place, run: Case): Promise<Run> {
    const { mutant, signal } = this.#options
    const startedAt = performance.now()
    try {
      return await runCase({ ...place, signal, ...(mutant === undefined ? {} : { mutant }) }, run)
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return { points: [], result: broken(run, mutant, what, performance.now() - startedAt) }
    }
  }

  #report({ case: label, violations, struck, faults }: RunResult): void {
    const { progress } = this.#options
    progress.say(`failed  ${label}`)
    if (struck < faults.length) progress.say('        the point was never reached')
    for (const { invariant, what } of violations) progress.say(`        ${invariant}: ${what}`)
  }
}

/** A run that the suite could not make: no invariant is at fault, and yet nothing is shown. */
function broken(
  run: Case,
  mutant: string | undefined,
  what: string,
  durationMs: number,
): RunResult {
  return {
    case: labelOf(run),
    scenario: run.scenario,
    faults: run.strikes.map(({ fault }) => fault),
    points: run.strikes.map(({ point }) => point),
    mutant: mutant ?? null,
    struck: 0,
    violations: [{ invariant: 0, what }],
    recoveryMs: null,
    outcome: 'the run could not be made',
    durationMs,
  }
}
