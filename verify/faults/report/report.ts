// The report of the suite: the published numbers, and every run that they are computed from.
import { spreadOf, type Spread } from '../../../bench/spread.ts'
import type { Plot } from '../../../bench/page.ts'
import { isCaught, type MutantVerdict } from '../mutants/verdict.ts'
import { hasFailed, isMissed, type RunResult, type Violation } from '../results.ts'

export interface Suite {
  readonly commit: string
  readonly at: string
  readonly mode: 'quick' | 'full'
  readonly seed: number
  readonly seconds: number
  /** In one line. */
  readonly machine: string
  /** The points of each scenario, in the order in which they were counted. */
  readonly counted: Readonly<Record<string, readonly string[]>>
  /** Runs of the product itself. */
  readonly runs: readonly RunResult[]
  /** Runs that this machine cannot make: neither passed nor failed. */
  readonly skipped?: readonly RunResult[]
  readonly mutants: readonly MutantVerdict[]
  readonly soak: readonly Plot[]
}

export interface Tally {
  readonly runs: number
  /** Runs in which nothing broke, but not every fault was injected. */
  readonly missed: number
  readonly failed: number
  readonly violations: number
  /** Of the runs that recovered. */
  readonly recovery_ms: Spread
}

/** The invariants that broke with a kind of provider. */
interface ProviderTally {
  readonly runs: number
  readonly failed: number
  /** Runs by the invariant they broke. */
  readonly broken: Readonly<Record<string, number>>
}

interface FailedRun {
  readonly case: string
  readonly mutant: string | null
  readonly violations: readonly Violation[]
  /** Undefined when every fault was injected. */
  readonly missed: string | undefined
}

interface SkippedRun {
  readonly case: string
  readonly why: string
}

/** The content of report.json, which people and programs read. */
export interface Report {
  readonly commit: string
  readonly at: string
  readonly mode: Suite['mode']
  readonly seed: number
  readonly seconds: number
  readonly machine: string
  readonly points: number
  readonly runs: number
  readonly violations: number
  /** A run with several faults counts for each of them. */
  readonly by_fault: Readonly<Record<string, Tally>>
  readonly by_scenario: Readonly<Record<string, Tally & { readonly points: number }>>
  readonly by_provider: Readonly<Record<string, ProviderTally>>
  readonly mutants: readonly MutantVerdict[]
  readonly recovery_ms: Spread
  /** From when PostgreSQL was back until new payments succeeded. */
  readonly return_ms: Spread
  /**
   * The numbers of runs and mutants with the expected result, without a result, and with another.
   */
  readonly passed: number
  readonly missed: number
  readonly failed: number
  readonly failures: readonly FailedRun[]
  readonly skipped: readonly SkippedRun[]
  readonly counted: Suite['counted']
  readonly results: readonly RunResult[]
  readonly soak: readonly Plot[]
}

export function makeReport(suite: Suite): Report {
  const { commit, at, mode, seed, seconds, machine, counted, runs, mutants, soak } = suite
  const all = tallyOf(runs)
  const survivors = mutants.filter((mutant) => !isCaught(mutant)).length
  const failed = all.failed + survivors
  return {
    commit,
    at,
    mode,
    seed,
    seconds: Math.round(seconds),
    machine,
    points: Object.values(counted).reduce((sum, { length }) => sum + length, 0),
    runs: runs.length,
    violations: all.violations,
    by_fault: tallyBy(runs, ({ faults }) => new Set(faults.length === 0 ? ['none'] : faults)),
    by_scenario: tallyByScenario(runs, counted),
    by_provider: tallyByProvider(runs),
    mutants,
    recovery_ms: all.recovery_ms,
    return_ms: spreadOf(runs.flatMap(({ returnMs }) => returnMs ?? [])),
    passed: runs.length + mutants.length - all.missed - failed,
    missed: all.missed,
    failed,
    failures: runs.filter((run) => hasFailed(run)).map(describeFailure),
    skipped: (suite.skipped ?? []).map(({ case: label, skipped = '' }) => ({
      case: label,
      why: skipped,
    })),
    counted,
    results: runs,
    soak,
  }
}

function tallyOf(runs: readonly RunResult[]): Tally {
  return {
    runs: runs.length,
    missed: runs.filter((run) => isMissed(run)).length,
    failed: runs.filter((run) => hasFailed(run)).length,
    violations: runs.reduce((sum, { violations }) => sum + violations.length, 0),
    recovery_ms: spreadOf(recoveriesOf(runs)),
  }
}

/** How long each run took to recover. A run without a fault has nothing to recover from. */
export function recoveriesOf(runs: readonly RunResult[]): number[] {
  return runs.flatMap(({ recoveryMs, faults }) =>
    recoveryMs === null || faults.length === 0 ? [] : [recoveryMs],
  )
}

function tallyBy(
  runs: readonly RunResult[],
  classesOf: (run: RunResult) => Iterable<string>,
): Record<string, Tally> {
  const classes = new Set(runs.flatMap((run) => [...classesOf(run)]))
  const tallies = [...classes].map((name) => {
    const own = runs.filter((run) => [...classesOf(run)].includes(name))
    return [name, tallyOf(own)] as const
  })
  return Object.fromEntries(tallies)
}

function tallyByScenario(
  runs: readonly RunResult[],
  counted: Suite['counted'],
): Report['by_scenario'] {
  const tallies = tallyBy(runs, ({ scenario }) => [scenario])
  return Object.fromEntries(
    Object.entries(tallies).map(([name, tally]) => [
      name,
      { points: counted[name]?.length ?? 0, ...tally },
    ]),
  )
}

function tallyByProvider(runs: readonly RunResult[]): Report['by_provider'] {
  const tallies = [...Map.groupBy(runs, ({ provider }) => provider)].map(([name, own]) => {
    const failed = own.filter((run) => hasFailed(run)).length
    const broken = countByInvariant(own.map(({ violations }) => violations))
    return [name, { runs: own.length, failed, broken }] as const
  })
  return Object.fromEntries(tallies)
}

/** The number of runs that broke each invariant. */
function countByInvariant(runs: readonly (readonly Violation[])[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const found of runs) {
    for (const invariant of new Set(found.map((violation) => violation.invariant))) {
      counts[invariant] = (counts[invariant] ?? 0) + 1
    }
  }
  return counts
}

function describeFailure(run: RunResult): FailedRun {
  const { case: label, mutant, violations, struck, faults } = run
  const missed =
    struck >= faults.length ? undefined : `${struck} of ${faults.length} faults were injected`
  return { case: label, mutant, violations, missed }
}
