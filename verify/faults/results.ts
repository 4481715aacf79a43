// What a run has come to, in the plain form that is counted, written into report.json and shown on the page.
import { labelOf, type Case, type Label } from './case.ts'
import { IDEMPOTENT } from './providers.ts'

/** An invariant of ARCHITECTURE.md, by its number, and what was found that breaks it. */
export interface Violation {
  readonly invariant: number
  readonly what: string
}

export interface RunResult {
  /** What `--case` repeats the run by. */
  readonly case: Label
  readonly scenario: string
  /** The kind of provider that it was made against. */
  readonly provider: string
  /** Of each strike of the run, in their order; a counting run has none. */
  readonly faults: readonly string[]
  readonly points: readonly string[]
  /** The name of the mutant that was run in place of the product; null: the product itself. */
  readonly mutant: string | null
  /** How many of the strikes have found their point; of a soak, how many that it drew itself. */
  readonly struck: number
  readonly violations: readonly Violation[]
  /** What broke of that which nobody can promise with such a provider: no failure, but said. */
  readonly unprovable: readonly Violation[]
  /** From the last strike until every key was terminal, or unknown with a finding; null: it never was. */
  readonly recoveryMs: number | null
  /** From when PostgreSQL was back until a payment begun then had succeeded; null: it was never away. */
  readonly returnMs: number | null
  /** What became of the operations, such as `201 succeeded`. */
  readonly outcome: string
  readonly durationMs: number
  /** Why the run could not be made on this machine: it has neither passed nor failed. */
  readonly skipped?: string
}

/**
 * What the run has come to; `missed`: nothing broke, but not all of its strikes have struck; `skipped`: this
 * machine does not permit it.
 */
export type RunVerdict = 'passed' | 'missed' | 'skipped' | 'failed'

/**
 * A run has shown what it was to show when every strike has struck and no invariant broke. One that nothing
 * has struck is a fault of the suite. One whose recovery was to be struck, too, may find that it goes another
 * way this time: no failure, and no proof either.
 */
export function verdictOf({ violations, struck, faults, skipped }: RunResult): RunVerdict {
  if (skipped !== undefined) return 'skipped'
  if (violations.length > 0) return 'failed'
  if (struck >= faults.length) return 'passed'
  return struck === 0 ? 'failed' : 'missed'
}

export function hasPassed(result: RunResult): boolean {
  return verdictOf(result) === 'passed'
}

export function isMissed(result: RunResult): boolean {
  return verdictOf(result) === 'missed'
}

export function hasFailed(result: RunResult): boolean {
  return verdictOf(result) === 'failed'
}

/** Whether it could not be made on this machine, which is no failure. */
export function isSkipped(result: RunResult): boolean {
  return verdictOf(result) === 'skipped'
}

/** Whether a strike has not found its point, and may find it when the run is made once more. */
export function isWorthRepeating({ violations, struck, faults, skipped }: RunResult): boolean {
  return skipped === undefined && struck < faults.length && violations.length === 0
}

/** A run that the suite could not make: no invariant is at fault, and yet nothing is shown. */
export function brokenRun(
  run: Case,
  mutant: string | undefined,
  what: string,
  durationMs: number,
): RunResult {
  return {
    ...unmadeRun(run, mutant, durationMs),
    violations: [{ invariant: 0, what }],
    outcome: 'the run could not be made',
  }
}

/** A run that this machine does not permit. */
export function skippedRun(run: Case, mutant: string | undefined, why: string): RunResult {
  return { ...unmadeRun(run, mutant, 0), outcome: 'skipped', skipped: why }
}

function unmadeRun(
  run: Case,
  mutant: string | undefined,
  durationMs: number,
): Omit<RunResult, 'outcome'> {
  return {
    case: labelOf(run),
    scenario: run.scenario,
    provider: run.provider ?? IDEMPOTENT,
    faults: run.strikes.map(({ fault }) => fault),
    points: run.strikes.map(({ point }) => point),
    mutant: mutant ?? null,
    struck: 0,
    violations: [],
    unprovable: [],
    recoveryMs: null,
    returnMs: null,
    durationMs,
  }
}
