// The report of the suite: a summary for the terminal, and `faults-report/report.json`, which has
// the published numbers and every run that they are computed from. Git ignores the folder.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { showTable } from '../../bench/report.ts'
import { type Spread, spreadOf } from '../../bench/spread.ts'
import type { RunResult } from './results.ts'
import {
  hasFailed,
  IDEMPOTENT,
  isMissed,
  isSkipped,
  RETURN_LIMIT_MS,
  showComparison,
} from './results.ts'
import { isCaught, type MutantVerdict } from './mutants/run-mutants.ts'

const REPORT_FOLDER = fileURLToPath(new URL('../../faults-report', import.meta.url))

export interface SuiteResults {
  readonly results: readonly RunResult[]
  readonly verdicts: readonly MutantVerdict[]
}

/** When, where and how a suite was run. */
export interface SuiteFacts {
  readonly commit: string
  readonly at: string
  readonly mode: 'quick' | 'full'
  readonly seed: number
  readonly seconds: number
  /** In one line. */
  readonly machine: string
  /** The points of each scenario, in the order in which they were counted. */
  readonly counted: Readonly<Record<string, readonly string[]>>
}

interface Tally {
  readonly runs: number
  /** Runs in which nothing broke, but not every fault was injected. */
  readonly missed: number
  readonly failed: number
  /** Runs by the invariant that they broke. */
  readonly broken: Readonly<Record<string, number>>
  /** Of the runs with a fault that recovered. */
  readonly recovery_ms: Spread
}

/** Writes report.json and returns its path. */
export async function writeReport(
  facts: SuiteFacts,
  suite: SuiteResults,
  folder = REPORT_FOLDER,
): Promise<string> {
  const path = join(folder, 'report.json')
  await mkdir(folder, { recursive: true })
  await writeFile(path, `${JSON.stringify(makeReport(facts, suite), undefined, 1)}\n`)
  return path
}

export function makeReport({ counted, ...facts }: SuiteFacts, { results, verdicts }: SuiteResults) {
  const runs = results.filter((result) => !isSkipped(result))
  return {
    ...facts,
    points: Object.values(counted).reduce((sum, { length }) => sum + length, 0),
    ...tallyOf(runs),
    ...countAll({ results, verdicts }),
    violations: runs.reduce((sum, { violations }) => sum + violations.length, 0),
    return_ms: spreadOf(runs.flatMap(({ returnMs }) => returnMs ?? [])),
    // A run with several faults counts for each of them.
    by_fault: tallyBy(runs, ({ faults }) => (faults.length === 0 ? ['none'] : faults)),
    by_provider: tallyBy(runs, ({ provider }) => [provider]),
    mutants: verdicts,
    counted,
    results,
  }
}

/** A mutant that survives is a failure; runs that were missed or skipped count as neither. */
function countAll({ results, verdicts }: SuiteResults): { passed: number; failed: number } {
  const survivors = verdicts.filter((verdict) => !isCaught(verdict))
  const failed = results.filter((result) => hasFailed(result)).length + survivors.length
  const others = results.filter((result) => isSkipped(result) || isMissed(result)).length
  return { passed: results.length + verdicts.length - others - failed, failed }
}

function tallyBy(
  runs: readonly RunResult[],
  namesOf: (run: RunResult) => readonly string[],
): Record<string, Tally> {
  const names = new Set(runs.flatMap(namesOf))
  return Object.fromEntries(
    [...names].map((name) => [name, tallyOf(runs.filter((run) => namesOf(run).includes(name)))]),
  )
}

function tallyOf(runs: readonly RunResult[]): Tally {
  const broken = Map.groupBy(runs.flatMap(invariantsOf), String)
  return {
    runs: runs.length,
    missed: runs.filter((run) => isMissed(run)).length,
    failed: runs.filter((run) => hasFailed(run)).length,
    broken: Object.fromEntries([...broken].map(([invariant, { length }]) => [invariant, length])),
    recovery_ms: spreadOf(
      runs.flatMap(({ recoveryMs, faults }) => (faults.length === 0 ? [] : (recoveryMs ?? []))),
    ),
  }
}

/** The invariants that a run broke. */
function invariantsOf({ violations }: RunResult): number[] {
  const broken = new Set(violations.map(({ invariant }) => invariant))
  return [...broken].toSorted((one, other) => one - other)
}

/** The last line, `N passed, N failed`, is parsed by the gate. */
export function renderSummary(
  all: readonly RunResult[],
  verdicts: readonly MutantVerdict[],
): string {
  const results = all.filter((result) => !isSkipped(result))
  const skipped = all.filter((result) => isSkipped(result))
  const failed = results.filter((result) => hasFailed(result))
  const rows = Object.entries(tallyBy(results, (run) => [nameFaults(run)])).map(
    ([fault, tally]) => {
      const { count, median, max } = tally.recovery_ms
      const times = count === 0 ? [] : [median, max].map((ms) => `${Math.round(ms)} ms`)
      return { cells: [fault, tally.runs, tally.missed, tally.failed, ...times] }
    },
  )
  const heading = ['fault', 'runs', 'missed', 'failed', 'recovery p50', 'longest']
  const missed = results.filter((result) => isMissed(result)).length
  const { passed, failed: failures } = countAll({ results: all, verdicts })
  return [
    ...(rows.length === 0 ? [] : showTable({ heading, rows })),
    ...showReturns(results),
    ...showComparisons(results),
    ...showProviders(results),
    ...section(
      'Failed runs; repeat one with --case <label>, a soak with the options shown:',
      failed.map((run) => `  ${run.case}${showInvariants(run)}`),
    ),
    ...section(
      `${skipped.length} skipped:`,
      skipped.map(({ case: label, skipped: why }) => `  ${label}  (${why})`),
    ),
    ...(verdicts.length === 0 ? [] : ['', ...verdicts.map(showVerdict)]),
    '',
    ...(missed === 0
      ? []
      : [`${missed} missed: not every fault was injected, so these runs prove nothing`]),
    `${passed} passed, ${failures} failed`,
    '',
  ].join('\n')
}

const section = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', title, ...lines]

function nameFaults({ faults, scenario, provider }: RunResult): string {
  if (provider !== IDEMPOTENT) return `${faults.join('+')}, ${provider} provider`
  if (faults.length > 1) return `${faults.length} faults, each in the previous recovery`
  return faults[0] ?? scenario
}

/** How soon new payments succeeded after an outage of PostgreSQL. */
function showReturns(results: readonly RunResult[]): string[] {
  const times = results.flatMap(({ returnMs }) => returnMs ?? [])
  if (times.length === 0) return []
  const longest = Math.round(Math.max(...times))
  const bound = `the limit is ${RETURN_LIMIT_MS} ms`
  return [
    '',
    `PostgreSQL came back in ${times.length} runs: new payments succeeded within ${longest} ms; ${bound}`,
  ]
}

/** What a tenant measured alone and beside its neighbours. */
function showComparisons(results: readonly RunResult[]): string[] {
  const lines = results.flatMap(({ scenario, comparisons = [] }) =>
    comparisons.map((one) => `${scenario}: ${showComparison(one)}`),
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

/** How often an invariant broke with each kind of provider. */
function showProviders(results: readonly RunResult[]): string[] {
  const byProvider = Map.groupBy(results, ({ provider }) => provider)
  if ([...byProvider.keys()].every((provider) => provider === IDEMPOTENT)) return []
  return [
    '',
    ...[...byProvider].map(([provider, own]) => {
      const broken = own.filter(({ violations }) => violations.length > 0).length
      return `${provider} provider: an invariant broke in ${broken} of ${own.length} runs`
    }),
  ]
}

function showInvariants(run: RunResult): string {
  const numbers = invariantsOf(run)
  return numbers.length === 0 ? '  (fault not injected)' : `  (invariant ${numbers.join(', ')})`
}

function showVerdict(verdict: MutantVerdict): string {
  const { name, caught_by: caughtBy, must_break: must, what } = verdict
  if (caughtBy !== null) return `mutant ${name}: caught by invariant ${caughtBy}`
  return `mutant ${name}: SURVIVED, invariant ${must} should have broken; ${what}`
}
