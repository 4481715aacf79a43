// The report of the suite: the published numbers, and every run that they are computed from.
import { spreadOf, type Spread } from '../../../bench/spread.ts'
import { isCaught, type MutantVerdict } from '../mutants/verdict.ts'
import { hasFailed, isMissed, type RunResult } from '../results.ts'

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
}

export interface Tally {
  readonly runs: number
  /** Runs in which nothing broke, but not every fault was injected. */
  readonly missed: number
  readonly failed: number
  readonly violations: number
  /** Runs by the invariant they broke. */
  readonly broken: Readonly<Record<string, number>>
  /** Of the runs that recovered. */
  readonly recovery_ms: Spread
}

type Tallies = Readonly<Record<string, Tally>>

/** The content of report.json, which people and programs read. */
export interface Report extends Omit<Suite, 'runs' | 'skipped'>, Omit<Tally, 'broken'> {
  readonly points: number
  /** A run with several faults counts for each of them. */
  readonly by_fault: Tallies
  readonly by_scenario: Tallies
  readonly by_provider: Tallies
  /** From when PostgreSQL was back until new payments succeeded. */
  readonly return_ms: Spread
  /** The number of runs and mutants with the expected result. */
  readonly passed: number
  readonly failures: readonly RunResult[]
  readonly skipped: readonly RunResult[]
  readonly results: readonly RunResult[]
}

export function makeReport({ runs, skipped = [], ...suite }: Suite): Report {
  const { counted, mutants } = suite
  const { broken: _, ...all } = tallyOf(runs)
  const failed = all.failed + mutants.filter((mutant) => !isCaught(mutant)).length
  return {
    ...suite,
    seconds: Math.round(suite.seconds),
    points: Object.values(counted).reduce((sum, { length }) => sum + length, 0),
    ...all,
    by_fault: tallyBy(runs, ({ faults }) => (faults.length === 0 ? ['none'] : faults)),
    by_scenario: tallyBy(runs, ({ scenario }) => [scenario]),
    by_provider: tallyBy(runs, ({ provider }) => [provider]),
    return_ms: spreadOf(runs.flatMap(({ returnMs }) => returnMs ?? [])),
    passed: runs.length + mutants.length - all.missed - failed,
    failed,
    failures: runs.filter((run) => hasFailed(run)),
    skipped,
    results: runs,
  }
}

function tallyBy(
  runs: readonly RunResult[],
  classesOf: (run: RunResult) => readonly string[],
): Tallies {
  const classes = new Set(runs.flatMap(classesOf))
  return Object.fromEntries(
    [...classes].map((name) => [
      name,
      tallyOf(runs.filter((run) => classesOf(run).includes(name))),
    ]),
  )
}

function tallyOf(runs: readonly RunResult[]): Tally {
  const broken = runs.flatMap(({ violations }) => [
    ...new Set(violations.map(({ invariant }) => invariant)),
  ])
  return {
    runs: runs.length,
    missed: runs.filter((run) => isMissed(run)).length,
    failed: runs.filter((run) => hasFailed(run)).length,
    violations: runs.reduce((sum, { violations }) => sum + violations.length, 0),
    broken: Object.fromEntries(
      [...Map.groupBy(broken, String)].map(([invariant, { length }]) => [invariant, length]),
    ),
    // A run without a fault has nothing to recover from.
    recovery_ms: spreadOf(
      runs.flatMap(({ recoveryMs, faults }) => (faults.length === 0 ? [] : (recoveryMs ?? []))),
    ),
  }
}
