// The result of a run, as it is counted, written to report.json and shown on the report page.
import { labelOf, type Case, type Label } from './case.ts'
import { IDEMPOTENT } from './providers.ts'

/**
 * A broken invariant by its number in ARCHITECTURE.md. Number 0 is an error of the suite itself.
 */
export interface Violation {
  readonly invariant: number
  readonly what: string
  /** A limit of time that a busy machine can exceed, too. */
  readonly isLate?: true
}

/** What one tenant measured alone, and beside the noise of another in the same run. */
export interface Comparison {
  readonly what: string
  readonly unit: 'ms' | 'look-ups'
  readonly alone: number
  readonly beside: number
  /** The largest value beside the noise that is allowed. */
  readonly limit: number
}

export interface RunResult {
  /** The label that repeats the run with `--case`. */
  readonly case: Label
  readonly scenario: string
  /** The kind of provider. */
  readonly provider: string
  /** The fault of each injection, in order; a counting run has none. */
  readonly faults: readonly string[]
  readonly points: readonly string[]
  /** The mutant that ran in place of the product; null for the product itself. */
  readonly mutant: string | null
  /** How many of the faults were injected; for a soak, the number of its random faults. */
  readonly struck: number
  readonly violations: readonly Violation[]
  /** From the last fault until each key was terminal, or unknown with a finding; null if never. */
  readonly recoveryMs: number | null
  /** From when PostgreSQL was back until a new payment succeeded; null without an outage. */
  readonly returnMs: number | null
  /** The results of the operations, for example `201 succeeded`. */
  readonly outcome: string
  readonly durationMs: number
  /** Of a run with neighbours. */
  readonly comparisons?: readonly Comparison[]
  /** The run missed a point that depends on timing: runs without a fault miss it, too. */
  readonly isByChance?: boolean
  /** Why this machine cannot make the run, which neither passed nor failed. */
  readonly skipped?: string
}

/** `missed`: nothing broke, but not all faults were injected; `skipped`: not possible here. */
export type RunVerdict = 'passed' | 'missed' | 'skipped' | 'failed'

/**
 * A run passes when every fault was injected and no invariant broke. A run without any of its
 * faults is an error of the suite and fails. A run that had its first fault but not one during the
 * recovery recovered in another way this time: it failed nothing and proves nothing. Neither does one that
 * missed a point which depends on timing.
 */
export function verdictOf(result: RunResult): RunVerdict {
  const { violations, struck, faults, skipped, isByChance = false } = result
  if (skipped !== undefined) return 'skipped'
  if (violations.length > 0) return 'failed'
  if (struck >= faults.length) return 'passed'
  return struck === 0 && !isByChance ? 'failed' : 'missed'
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

/** Whether this machine cannot make the run, which is no failure. */
export function isSkipped(result: RunResult): boolean {
  return verdictOf(result) === 'skipped'
}

/** Whether a fault was not injected, and may be when the run is repeated. */
export function shouldRepeat({ violations, struck, faults, skipped }: RunResult): boolean {
  return skipped === undefined && struck < faults.length && violations.length === 0
}

/**
 * A run that the suite could not make. No invariant broke, but the run proves nothing and fails.
 */
export function brokenRun(
  run: Case,
  mutant: string | undefined,
  what: string,
  durationMs: number,
): RunResult {
  return {
    ...emptyResult(run, mutant, durationMs),
    violations: [{ invariant: 0, what }],
    outcome: 'the run could not be made',
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** Whether a run broke limits of time and nothing else. */
export function isOnlyLate({ violations }: RunResult): boolean {
  return violations.length > 0 && violations.every(({ isLate }) => isLate)
}

/** Invariant 7 limits the time of recovery, and 0 is an error of the suite, such as no answer in time. */
const OF_TIME: readonly number[] = [0, 7]

/** Whether a machine that stood still can have failed the run. */
export function mayBeStalled({ violations }: RunResult): boolean {
  return violations.every(({ invariant }) => OF_TIME.includes(invariant))
}

/** A run that is not possible on this machine. */
export function skippedRun(run: Case, mutant: string | undefined, why: string): RunResult {
  return { ...emptyResult(run, mutant, 0), outcome: 'skipped', skipped: why }
}

function emptyResult(
  run: Case,
  mutant: string | undefined,
  durationMs: number,
): Omit<RunResult, 'outcome'> {
  return {
    case: labelOf(run),
    scenario: run.scenario,
    provider: run.provider ?? IDEMPOTENT,
    faults: run.injections.map(({ fault }) => fault),
    points: run.injections.map(({ point }) => point),
    mutant: mutant ?? null,
    struck: 0,
    violations: [],
    recoveryMs: null,
    returnMs: null,
    durationMs,
  }
}
