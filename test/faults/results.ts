// What a run has come to, in the plain form that is counted, written into report.json and shown on the page.
import type { Label } from './case.ts'

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
  /** How many of the strikes have found their point. */
  readonly struck: number
  readonly violations: readonly Violation[]
  /** What broke of that which nobody can promise with such a provider: no failure, but said. */
  readonly unprovable: readonly Violation[]
  /** From the last strike until every key was terminal, or unknown with a finding; null: it never was. */
  readonly recoveryMs: number | null
  /** What became of the operations, such as `201 succeeded`. */
  readonly outcome: string
  readonly durationMs: number
}

/**
 * Whether the run has shown what it was to show: it was struck, and no invariant broke. What is to strike
 * its recovery too may find that it goes another way this time.
 */
export function hasPassed({ violations, struck, faults }: RunResult): boolean {
  return violations.length === 0 && (struck > 0 || faults.length === 0)
}
