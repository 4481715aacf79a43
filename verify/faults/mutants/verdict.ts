// The verdict on a mutant, as report.json contains it.
import type { Label } from '../case.ts'
import { hasPassed, type RunResult } from '../results.ts'
import type { Mutant } from './mutant.ts'

export interface MutantVerdict {
  readonly name: string
  readonly breaks: string
  readonly must_break: number
  /**
   * The invariant that caught it; null when it survived, another invariant broke, or row-level
   * security did not stop it.
   */
  readonly caught_by: number | null
  /** The run that revealed it and its violation; for a survivor, what happened instead. */
  readonly case: Label | null
  readonly what: string
  readonly runs: number
}

export function isCaught({ caught_by: caughtBy }: MutantVerdict): boolean {
  return caughtBy !== null
}

/**
 * @param runs the runs of the mutant, in order.
 * @param controls the same runs of the product. One that fails proves nothing about the mutant.
 * @param withRowSecurity the runs with row-level security, for a mutant that removes a predicate on the
 *   tenant.
 */
export function judgeMutant(
  mutant: Mutant,
  runs: readonly RunResult[],
  controls: readonly RunResult[],
  withRowSecurity: readonly RunResult[] = [],
): MutantVerdict {
  const { name, breaks, caughtBy } = mutant
  const verdict = { name, breaks, must_break: caughtBy, runs: runs.length }
  const escaped = withRowSecurity.filter((run) => !hasPassed(run))
  if (escaped.length > 0) {
    const what = `row-level security did not stop it: ${describe(escaped)}`
    return { ...verdict, caught_by: null, case: null, what }
  }
  const sound = new Set(controls.filter((run) => hasPassed(run)).map((run) => run.case))
  for (const run of runs) {
    const found = run.violations.find(({ invariant }) => invariant === caughtBy)
    if (found === undefined || !sound.has(run.case)) continue
    return { ...verdict, caught_by: caughtBy, case: run.case, what: found.what }
  }
  const own = new Set(runs.map((run) => run.case))
  const unsound = controls.filter((run) => own.has(run.case) && !hasPassed(run))
  const what =
    unsound.length === 0
      ? describe(runs)
      : `the product itself fails ${unsound.map((run) => run.case).join(', ')}: ${describe(unsound)}`
  return { ...verdict, caught_by: null, case: null, what }
}

function describe(runs: readonly RunResult[]): string {
  if (runs.length === 0) return 'it was not run'
  const broken = runs.flatMap(({ violations }) => violations)
  if (broken.length > 0) {
    const shown = broken.map(({ invariant, what }) => `invariant ${invariant}: ${what}`)
    return `broken: ${[...new Set(shown)].join('; ')}`
  }
  const missed = runs.filter(({ struck, faults }) => struck < faults.length).length
  const tail =
    missed === 0 ? '' : `, and the fault was not injected in ${missed} of ${runs.length} runs`
  return `nothing broke${tail}`
}
