// Runs the cases of a plan on several lanes at once and returns the result of each. It also counts
// the points of each scenario, from which the plan is made.
import { readFileSync } from 'node:fs'
import type { Progress } from '../../bench/progress.ts'
import type { Case, RunResult } from './results.ts'
import {
  hasFailed,
  hasPassed,
  IDEMPOTENT,
  isOnlyLate,
  mayBeStalled,
  shouldRepeat,
} from './results.ts'
import { belongsToRole, durableStates, isPreparation, isRepeated, type Point } from './points.ts'
import type { Environment } from './environment.ts'
import { type PreparedLane, prepareLane } from './bystander.ts'
import { type CountedScenario, isKill, isKilledOnce, needsServer, type Recovery } from './plan.ts'
import { needsNewConnections, orBroken, type Run, runCase } from './run-case.ts'
import { needsOf } from './scenarios.ts'

/** The columns of the first line of /proc/stat that do not count a part of another column, and `steal`. */
const COLUMNS = 8
const STEAL = 7

/**
 * Starts to measure. The returned function gives the share of all processor time since then that was
 * stolen, from 0 to 1; 0 where it is not counted.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_stat.5.html
 */
export function measureStolenTime(readStat: () => string = readProcStat): () => number {
  const before = readTimes(readStat())
  return () => {
    const passed = readTimes(readStat()).map((time, column) => time - (before[column] ?? 0))
    const all = passed.reduce((sum, time) => sum + time, 0)
    return all > 0 ? (passed[STEAL] ?? 0) / all : 0
  }
}

function readTimes(stat: string): number[] {
  const [line = ''] = stat.split('\n')
  return line
    .trim()
    .split(/\s+/)
    .slice(1, COLUMNS + 1)
    .map(Number)
}

/** Only Linux has this file. */
function readProcStat(): string {
  try {
    return readFileSync('/proc/stat', 'utf8')
  } catch {
    return ''
  }
}

/** The order of concurrent messages may hide a point, or end a contest before its fault, a few times. */
const MAX_ATTEMPTS = 5

/** A busy machine exceeds a limit of seconds once; a service that is too slow exceeds it always. */
const LATE_TRIES = 3

interface Attempt {
  readonly result: RunResult
}

/**
 * Returns the attempt with the most injected faults. An attempt with violations is the last one.
 *
 * @param tries when some faults were injected, but not all. A run without any of them is always
 *   tried `MAX_ATTEMPTS` times.
 */
export async function runUntilInjected<Made extends Attempt>(
  attempt: () => Promise<Made>,
  signal: AbortSignal,
  tries = MAX_ATTEMPTS,
): Promise<Made> {
  let best = await attempt()
  for (let attempts = 1; !signal.aborted && shouldRepeat(best.result); attempts += 1) {
    const { struck } = best.result
    if (attempts >= (struck === 0 ? MAX_ATTEMPTS : tries)) break
    const next = await attempt()
    const isWorse = shouldRepeat(next.result) && next.result.struck < struck
    if (!isWorse) best = next
  }
  return best
}

/** Repeats a run as `runUntilInjected` does, and while it fails for a limit of time alone. */
export async function runUntilInTime<Made extends Attempt>(
  attempt: () => Promise<Made>,
  signal: AbortSignal,
  tries = MAX_ATTEMPTS,
  onLate: (result: RunResult) => void = () => {},
): Promise<Made> {
  let made = await runUntilInjected(attempt, signal, tries)
  for (let times = 1; times < LATE_TRIES && isOnlyLate(made.result); times += 1) {
    if (signal.aborted) break
    onLate(made.result)
    made = await runUntilInjected(attempt, signal, tries)
  }
  return made
}

interface SuiteOptions {
  readonly environment: Environment
  readonly progress: Progress
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  readonly lanes: number
  /** Lowers the priority of the lanes, because a soak that runs beside them measures times. */
  readonly lowPriority?: boolean
}

const RECOVERIES_KEPT = 1_000

/** One in a quick suite: a run that misses its point tells whether that depends on timing. */
const COUNTING_RUNS = { full: 4, quick: 1 }

/** Without a fault, a job fails only by chance: when two workers take it. */
const BY_CHANCE = 'fail-job'

/** The share of stolen processor time from which limits of time say nothing about the service. */
const STALLED_SHARE = 0.2

/** The lane in which a worker of the suite makes its runs. */
interface Place {
  prepared: PreparedLane | undefined
}

/** Starting a lane takes as long as this many runs. */
const RUNS_PER_LANE_START = 3

export class Suite {
  readonly #options: SuiteOptions
  /** Idle lanes, by kind. */
  readonly #idleLanes = new Map<string, PreparedLane[]>()
  #recoveries: Recovery[] = []
  /** The points that the counting runs reached, each behind the name of its scenario. */
  readonly #counted = new Set<string>()

  constructor(options: SuiteOptions) {
    this.#options = options
  }

  /**
   * Runs each scenario several times without a fault and returns the points that all runs reached: a
   * point that one of them did not reach depends on timing. Counting runs that fail are returned as
   * results.
   */
  async count(
    scenarios: readonly string[],
    quick = false,
  ): Promise<{ counted: CountedScenario[]; failed: RunResult[] }> {
    const once = scenarios.map((scenario): Case => ({ scenario, injections: [] }))
    const all = Array.from({ length: COUNTING_RUNS[quick ? 'quick' : 'full'] }, () => once).flat()
    const runs = await this.#runAll(all, 'Counting points')
    for (const { result, points } of runs) {
      for (const { label } of points) this.#counted.add(`${result.scenario} ${label}`)
    }
    const byScenario = Map.groupBy(runs, ({ result }) => result.scenario)
    const counted = [...byScenario].map(([scenario, own]) => ({ scenario, own: inTime(own) }))
    return {
      counted: counted.map(({ scenario, own }) => ({ scenario, points: pointsInAll(own) })),
      failed: counted.flatMap(({ own }) =>
        own.map(({ result }) => result).filter((result) => hasFailed(result)),
      ),
    }
  }

  /** @param tries for a run in which some of the faults were injected, but not all. */
  async run(cases: readonly Case[], what = 'Runs', tries = MAX_ATTEMPTS): Promise<RunResult[]> {
    const runs = await this.#runAll(cases, what, tries)
    return runs.map(({ result }) => result)
  }

  /** The recoveries of the last runs: from every single kill, and a sample of the others. */
  get recoveries(): readonly Recovery[] {
    return this.#recoveries
  }

  /** Removes all lanes. */
  async end(): Promise<void> {
    await this.#removeLanesExcept(new Set())
  }

  /** A dozen idle lanes use a third of two processors, because their processes poll for work. */
  async #removeLanesExcept(kinds: ReadonlySet<string>): Promise<void> {
    const others = [...this.#idleLanes].filter(([name]) => !kinds.has(name))
    const idleLanes = others.flatMap(([, lanes]) => lanes.splice(0))
    await Promise.all(idleLanes.map(({ lane }) => lane.remove()))
  }

  /** Returns the runs in the order of the cases; after an abort only those that were made. */
  async #runAll(cases: readonly Case[], what: string, tries = MAX_ATTEMPTS): Promise<Run[]> {
    const runs: Run[] = []
    const progressed = this.#options.progress.begin(what, cases.length)
    this.#recoveries = []
    let count = 0
    const stride = Math.ceil(cases.length / RECOVERIES_KEPT)
    const keep = (index: number, run: Run) => {
      // Only counting runs keep their points: thousands of runs have hundreds of points each.
      runs[index] = run.result.faults.length === 0 ? run : { ...run, points: [], recovery: [] }
      const original = cases[index]
      const isKept = original !== undefined && (index % stride === 0 || isKilledOnce(original))
      if (isKept && hasPassed(run.result)) this.#recoveries.push(recoveryOf(original, run))
      progressed((count += 1))
    }
    const byLaneKind = Map.groupBy(cases.entries(), ([, run]) => laneKindOf(run))
    const open = new Set(byLaneKind.keys())
    const workers = [...byLaneKind].flatMap(([laneKind, own]): Worker[] => {
      const queue = own.values()
      const work = async () => {
        await this.#removeLanesExcept(open)
        await this.#workThrough(queue, laneKind, tries, keep)
        open.delete(laneKind)
      }
      const share = laneShareOf(own[0]?.[1])
      const worthwhile = Math.ceil(own.length / RUNS_PER_LANE_START)
      const length = Math.min(Math.ceil(this.#options.lanes * share), worthwhile)
      return Array.from({ length }, () => ({ slots: 1 / share, work }))
    })
    await runWithin(this.#options.lanes, workers)
    return runs.filter((run) => run !== undefined)
  }

  /** Makes one run after the other in the same lane. */
  async #workThrough(
    queue: Iterable<readonly [number, Case]>,
    laneKind: string,
    tries: number,
    keep: (index: number, run: Run) => void,
  ): Promise<void> {
    const { signal } = this.#options
    const place: Place = { prepared: undefined }
    for (const [index, run] of queue) {
      if (signal.aborted) return
      const completed = await this.#runUnlessStalled(place, run, tries)
      if (signal.aborted) return
      keep(index, completed)
      if (hasFailed(completed.result)) this.#report(completed.result)
    }
    if (place.prepared !== undefined) this.#idleLanesOf(laneKind).push(place.prepared)
  }

  /** Makes the run. If it failed while the machine stood still, it is made again in a new lane. */
  async #runUnlessStalled(place: Place, run: Case, tries: number): Promise<Run> {
    const { signal, progress } = this.#options
    for (let times = 1; ; times += 1) {
      const stolenShare = measureStolenTime()
      const made = await orBroken(run, undefined, async () => {
        place.prepared ??= await this.#takeLane(run)
        return await this.#runRepeatedly(place.prepared, run, tries)
      })
      const share = stolenShare()
      const hasFailedNow = hasFailed(made.result)
      // A run that broke an invariant may leave anything behind, so the next one gets a new lane.
      if (hasFailedNow && made.result.violations.length > 0) {
        await place.prepared?.lane.remove()
        place.prepared = undefined
      }
      const isStalled = hasFailedNow && share >= STALLED_SHARE && mayBeStalled(made.result)
      if (!isStalled || times === LATE_TRIES || signal.aborted) return made
      const percent = Math.round(100 * share)
      const reason = `other machines had ${percent} % of the processors`
      progress.say(`stalled ${made.result.case}: ${reason}; it is made again`)
    }
  }

  async #takeLane(run: Case): Promise<PreparedLane> {
    const idle = this.#idleLanesOf(laneKindOf(run)).pop()
    if (idle !== undefined) return idle
    const { environment, signal, lowPriority = false } = this.#options
    return await prepareLane(
      { environment, signal, ownServer: needsServer(run) },
      { ...needsOf(run), lowPriority },
    )
  }

  #idleLanesOf(laneKind: string): PreparedLane[] {
    const idle = this.#idleLanes.get(laneKind) ?? []
    this.#idleLanes.set(laneKind, idle)
    return idle
  }

  async #runRepeatedly(prepared: PreparedLane, run: Case, tries: number): Promise<Run> {
    const { signal, progress } = this.#options
    const attempt = () => orBroken(run, undefined, () => runCase({ ...prepared, signal }, run))
    const made = await runUntilInTime(
      attempt,
      signal,
      tries,
      ({ case: label, violations: [late] }) =>
        progress.say(`late    ${label}: ${late?.what ?? ''}; it is made again`),
    )
    const isUnstruck = shouldRepeat(made.result) && made.result.struck === 0
    const isByChance = isUnstruck && (await this.#isByChance(prepared, run))
    return isByChance ? { ...made, result: { ...made.result, isByChance } } : made
  }

  /** Whether a run without a fault misses the first point of this one, which a counting run reached. */
  async #isByChance(prepared: PreparedLane, run: Case): Promise<boolean> {
    const { signal } = this.#options
    const [first] = run.injections
    if (!this.#counted.has(`${run.scenario} ${first?.point}`)) return false
    for (let times = 0; times < COUNTING_RUNS.full; times += 1) {
      const { points } = await runCase({ ...prepared, signal }, { ...run, injections: [] })
      if (points.every(({ label }) => label !== first?.point)) return true
    }
    return false
  }

  #report({ case: label, violations, struck, faults }: RunResult): void {
    const { progress } = this.#options
    progress.say(`failed  ${label}`)
    if (struck === 0 && faults.length > 0) progress.say('        no fault was injected')
    for (const { invariant, what } of violations) progress.say(`        ${invariant}: ${what}`)
  }
}

interface Worker {
  /** How many of the suite's lanes it counts as. */
  readonly slots: number
  work(): Promise<void>
}

/** Runs the workers in their order, as many at a time as there are slots for. */
async function runWithin(slots: number, workers: readonly Worker[]): Promise<void> {
  const running = new Set<Promise<void>>()
  let free = slots
  for (const worker of workers) {
    while (free < worker.slots && running.size > 0) await Promise.race(running)
    free -= worker.slots
    const run = worker.work().finally(() => {
      free += worker.slots
      running.delete(run)
    })
    running.add(run)
  }
  await Promise.all(running)
}

function recoveryOf(run: Case, { points, recovery }: Run): Recovery {
  const statesBefore = durableStates(points.slice(0, points.length - recovery.length))
  const pointsAgain = recovery.filter((point) => isReachedAgain(run, point))
  return { run, points: pointsAgain, durableState: statesBefore.at(-1) ?? '' }
}

/**
 * Whether a repetition of the run reaches the point again. A connection keeps the statements that
 * an earlier run prepared, so a preparation is certain on new connections only.
 */
function isReachedAgain(run: Case, { role, label }: Point): boolean {
  const last = run.injections.at(-1)
  const isNew = last !== undefined && belongsToRole(last.point, role) && isKill([last])
  return isNew || needsNewConnections(run, role) || !isPreparation(label)
}

/** Without the runs that failed for a limit of time alone, if another one of the scenario passed. */
function inTime(runs: readonly Run[]): readonly Run[] {
  const others = runs.filter(({ result }) => !isOnlyLate(result))
  return others.some(({ result }) => hasPassed(result)) ? others : runs
}

/**
 * The points that every run reached, without repeated preparations: timing decides whether a second
 * connection prepares a statement.
 */
function pointsInAll([first, ...others]: readonly Run[]): readonly Point[] {
  const labelsOfOthers = others.map(({ points }) => new Set(points.map(({ label }) => label)))
  return (first?.points ?? []).filter(
    ({ label, name }) =>
      name !== BY_CHANCE &&
      labelsOfOthers.every((labels) => labels.has(label)) &&
      !(isPreparation(label) && isRepeated(label)),
  )
}

/**
 * How many lanes are used, as a share. Servers that crash get half: the suite measures how soon
 * they serve again, and they must not slow each other down. Runs with another provider or with
 * several faults spend most of their time waiting, so more of them run at once.
 */
function laneShareOf(run: Case | undefined): number {
  if (run === undefined) return 1
  if (needsServer(run)) return 1 / 2
  const { provider = IDEMPOTENT, injections } = run
  return provider === IDEMPOTENT && injections.length < 2 ? 1 : 3 / 2
}

/** The kind of lane that a run needs. Runs of the same kind share lanes. */
function laneKindOf(run: Case): string {
  return JSON.stringify([needsServer(run), needsOf(run)])
}
