// Makes the runs of a plan on several lanes at once: first each scenario is counted, then every run is made,
// and what each has come to is given back.
import type { Progress } from '../../bench/progress.ts'
import type { Case } from './case.ts'
import { durableStates } from './durable-states.ts'
import type { Ground } from './ground.ts'
import { settleIn, type Place } from './place.ts'
import { isKill, isKilledOnce, needsServer, type CountedScenario, type Recovery } from './plan.ts'
import { isOfRole, isPreparation, isRepeated, type Point } from './points.ts'
import { IDEMPOTENT, providerNamed } from './providers.ts'
import { brokenRun, hasFailed, hasPassed, type RunResult } from './results.ts'
import { needsNewConnections, runCase, type Run } from './run-case.ts'
import { MOST_TRIES, untilStruck } from './until-struck.ts'

export interface SuiteOptions {
  readonly ground: Ground
  readonly progress: Progress
  /** Aborted when no more is wanted. */
  readonly signal: AbortSignal
  readonly lanes: number
  /** Whether a soak goes on beside it, whose times are measured. */
  readonly yields?: boolean
}

const KEPT_RECOVERIES = 1_000

/** To start one takes as long as so many runs. */
const RUNS_OF_A_LANE = 3

export class Suite {
  readonly #options: SuiteOptions
  /** Those that nobody uses now. */
  readonly #free = new Map<string, Place[]>()
  #recoveries: Recovery[] = []

  constructor(options: SuiteOptions) {
    this.#options = options
  }

  /** Counts the points of each scenario, twice: what comes only now and then is none. A counting run that breaks an invariant is a result of its own. */
  async count(
    scenarios: readonly string[],
  ): Promise<{ counted: CountedScenario[]; failed: RunResult[] }> {
    const once = scenarios.map((scenario): Case => ({ scenario, strikes: [] }))
    const runs = await this.#makeAll([...once, ...once], 'Counting points')
    const byScenario = Map.groupBy(runs, ({ result }) => result.scenario)
    return {
      counted: [...byScenario].map(([scenario, own]) => ({ scenario, points: inAll(own) })),
      failed: runs.map(({ result }) => result).filter((result) => hasFailed(result)),
    }
  }

  /** @param tries of what was struck, but less often than it was to be. */
  async run(cases: readonly Case[], what = 'Runs', tries = MOST_TRIES): Promise<RunResult[]> {
    const runs = await this.#makeAll(cases, what, tries)
    return runs.map(({ result }) => result)
  }

  /** The ways in which the runs that were made last have recovered: from a kill, and every so manieth of the others. */
  get recoveries(): readonly Recovery[] {
    return this.#recoveries
  }

  /** Leaves all lanes. */
  async end(): Promise<void> {
    await this.#leaveAllBut(undefined)
  }

  /** To look for work, a dozen idle lanes take a third of two processors. */
  async #leaveAllBut(ground: string | undefined): Promise<void> {
    const others = [...this.#free].filter(([name]) => name !== ground)
    const left = others.flatMap(([, places]) => places.splice(0))
    await Promise.all(left.map(({ lane }) => lane.remove()))
  }

  /** In the order of the cases. An aborted suite has made some of them only. */
  async #makeAll(cases: readonly Case[], what: string, tries = MOST_TRIES): Promise<Run[]> {
    const runs: Run[] = []
    const made = this.#options.progress.begin(what, cases.length)
    this.#recoveries = []
    let count = 0
    const stride = Math.ceil(cases.length / KEPT_RECOVERIES)
    const keep = (index: number, run: Run) => {
      // Thousands of runs come to hundreds of points each, which nobody asks for but of a few.
      runs[index] = run.result.faults.length === 0 ? run : { ...run, points: [], recovery: [] }
      const of = cases[index]
      const isKept = of !== undefined && (index % stride === 0 || isKilledOnce(of))
      if (isKept && hasPassed(run.result)) this.#recoveries.push(recoveryOf(of, run))
      made((count += 1))
    }
    const byGround = Map.groupBy(cases.entries(), ([, run]) => groundOf(run))
    for (const [ground, own] of byGround) {
      await this.#leaveAllBut(ground)
      await this.#makeSome(own, tries, keep)
    }
    return runs.filter((run) => run !== undefined)
  }

  async #makeSome(
    cases: readonly (readonly [number, Case])[],
    tries: number,
    keep: (index: number, run: Run) => void,
  ): Promise<void> {
    const { lanes, signal } = this.#options
    const queue = cases.values()
    const work = async () => {
      let place: Place | undefined
      let ground = ''
      for (const [index, run] of queue) {
        ground = groundOf(run)
        if (signal.aborted) return
        const made = await this.#orBroken(run, async () => {
          place ??= await this.#place(run)
          return await this.#make(place, run, tries)
        })
        if (signal.aborted) return
        keep(index, made)
        if (!hasFailed(made.result)) continue
        this.#report(made.result)
        if (made.result.violations.length === 0) continue
        // What a run that broke something has left behind is no concern of the next one.
        await place?.lane.remove()
        place = undefined
      }
      if (place !== undefined) this.#freeOn(ground).push(place)
    }
    const worthIt = Math.ceil(cases.length / RUNS_OF_A_LANE)
    const [first] = cases.map(([, run]) => run)
    const share = first === undefined ? 1 : shareOf(first)
    const atOnce = Math.ceil(lanes * share)
    await Promise.all(Array.from({ length: Math.min(atOnce, worthIt) }, work))
  }

  async #place(run: Case): Promise<Place> {
    const free = this.#freeOn(groundOf(run)).pop()
    if (free !== undefined) return free
    const { ground, signal, yields = false } = this.#options
    const { settings } = providerNamed(run.provider)
    return await settleIn({ ground, signal, ownServer: needsServer(run) }, { settings, yields })
  }

  #freeOn(ground: string): Place[] {
    const free = this.#free.get(ground) ?? []
    this.#free.set(ground, free)
    return free
  }

  async #make(place: Place, run: Case, tries: number): Promise<Run> {
    const { signal } = this.#options
    const make = () => this.#orBroken(run, () => runCase({ ...place, signal }, run))
    return await untilStruck(make, signal, tries)
  }

  async #orBroken(run: Case, make: () => Promise<Run>): Promise<Run> {
    const startedAt = performance.now()
    try {
      return await make()
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return {
        points: [],
        recovery: [],
        result: brokenRun(run, undefined, what, performance.now() - startedAt),
      }
    }
  }

  #report({ case: label, violations, struck, faults }: RunResult): void {
    const { progress } = this.#options
    progress.say(`failed  ${label}`)
    if (struck === 0 && faults.length > 0) progress.say('        the fault has never struck')
    for (const { invariant, what } of violations) progress.say(`        ${invariant}: ${what}`)
  }
}

function recoveryOf(of: Case, { points, recovery }: Run): Recovery {
  const before = durableStates(points.slice(0, points.length - recovery.length))
  const again = recovery.filter((point) => isMetAgain(of, point))
  return { of, points: again, struckIn: before.at(-1) ?? '' }
}

/** What a connection has prepared in an earlier run is chance, unless it is a new one. */
function isMetAgain(of: Case, { role, label }: Point): boolean {
  const last = of.strikes.at(-1)
  const isNew = last !== undefined && isOfRole(last.point, role) && isKill([last])
  return isNew || needsNewConnections(of, role) || !isPreparation(label)
}

/** The points that every run has come to. Whether a second connection prepares a statement, chance decides. */
function inAll([first, ...others]: readonly Run[]): readonly Point[] {
  const seen = others.map(({ points }) => new Set(points.map(({ label }) => label)))
  return (first?.points ?? []).filter(
    ({ label }) =>
      seen.every((labels) => labels.has(label)) && !(isPreparation(label) && isRepeated(label)),
  )
}

/**
 * How many of the lanes are used. Servers that crash are not to hold each other up, because it is measured how soon they
 * are of use again; a doubt about the provider, and a recovery from a recovery, are waited for most of the time.
 */
function shareOf(run: Case): number {
  if (needsServer(run)) return 1 / 2
  const { provider = IDEMPOTENT, strikes } = run
  return provider === IDEMPOTENT && strikes.length < 2 ? 1 : 3 / 2
}

/** Runs of one ground can be made on the same lane: it has what they need, and nothing else. */
function groundOf(run: Case): string {
  const { settings } = providerNamed(run.provider)
  return JSON.stringify([needsServer(run), settings])
}
