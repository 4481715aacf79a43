// Runs the cases of a plan on several lanes at once and returns the result of each. It also counts
// the points of each scenario, from which the plan is made.
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
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  readonly lanes: number
  /** Lowers the priority of the lanes, because a soak that runs beside them measures times. */
  readonly yields?: boolean
}

const KEPT_RECOVERIES = 1_000

/** Starting a lane takes as long as this many runs. */
const RUNS_OF_A_LANE = 3

export class Suite {
  readonly #options: SuiteOptions
  /** Idle lanes, by kind. */
  readonly #free = new Map<string, Place[]>()
  #recoveries: Recovery[] = []

  constructor(options: SuiteOptions) {
    this.#options = options
  }

  /**
   * Runs each scenario twice without a fault and returns the points that both runs reached: a point
   * that only one of them reached depends on timing. Counting runs that fail are returned as
   * results.
   */
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

  /** @param tries for a run in which some of the faults were injected, but not all. */
  async run(cases: readonly Case[], what = 'Runs', tries = MOST_TRIES): Promise<RunResult[]> {
    const runs = await this.#makeAll(cases, what, tries)
    return runs.map(({ result }) => result)
  }

  /** The recoveries of the last runs: from every single kill, and a sample of the others. */
  get recoveries(): readonly Recovery[] {
    return this.#recoveries
  }

  /** Removes all lanes. */
  async end(): Promise<void> {
    await this.#leaveAllBut(undefined)
  }

  /** A dozen idle lanes use a third of two processors, because their processes poll for work. */
  async #leaveAllBut(ground: string | undefined): Promise<void> {
    const others = [...this.#free].filter(([name]) => name !== ground)
    const left = others.flatMap(([, places]) => places.splice(0))
    await Promise.all(left.map(({ lane }) => lane.remove()))
  }

  /** Returns the runs in the order of the cases; after an abort only those that were made. */
  async #makeAll(cases: readonly Case[], what: string, tries = MOST_TRIES): Promise<Run[]> {
    const runs: Run[] = []
    const made = this.#options.progress.begin(what, cases.length)
    this.#recoveries = []
    let count = 0
    const stride = Math.ceil(cases.length / KEPT_RECOVERIES)
    const keep = (index: number, run: Run) => {
      // Only counting runs keep their points: thousands of runs have hundreds of points each.
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
        // A run that broke an invariant may leave anything behind, so the next one gets a new lane.
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
    if (struck === 0 && faults.length > 0) progress.say('        no fault was injected')
    for (const { invariant, what } of violations) progress.say(`        ${invariant}: ${what}`)
  }
}

function recoveryOf(of: Case, { points, recovery }: Run): Recovery {
  const before = durableStates(points.slice(0, points.length - recovery.length))
  const again = recovery.filter((point) => isMetAgain(of, point))
  return { of, points: again, struckIn: before.at(-1) ?? '' }
}

/**
 * Whether a repetition of the run reaches the point again. A connection keeps the statements that
 * an earlier run prepared, so a preparation is certain on new connections only.
 */
function isMetAgain(of: Case, { role, label }: Point): boolean {
  const last = of.strikes.at(-1)
  const isNew = last !== undefined && isOfRole(last.point, role) && isKill([last])
  return isNew || needsNewConnections(of, role) || !isPreparation(label)
}

/**
 * The points that every run reached, without repeated preparations: timing decides whether a second
 * connection prepares a statement.
 */
function inAll([first, ...others]: readonly Run[]): readonly Point[] {
  const seen = others.map(({ points }) => new Set(points.map(({ label }) => label)))
  return (first?.points ?? []).filter(
    ({ label }) =>
      seen.every((labels) => labels.has(label)) && !(isPreparation(label) && isRepeated(label)),
  )
}

/**
 * How many lanes are used, as a share. Servers that crash get half: the suite measures how soon
 * they serve again, and they must not slow each other down. Runs with another provider or with
 * several faults spend most of their time waiting, so more of them run at once.
 */
function shareOf(run: Case): number {
  if (needsServer(run)) return 1 / 2
  const { provider = IDEMPOTENT, strikes } = run
  return provider === IDEMPOTENT && strikes.length < 2 ? 1 : 3 / 2
}

/** The kind of lane that a run needs. Runs of the same kind share lanes. */
function groundOf(run: Case): string {
  const { settings } = providerNamed(run.provider)
  return JSON.stringify([needsServer(run), settings])
}
