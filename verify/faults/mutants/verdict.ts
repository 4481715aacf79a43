// What became of a mutant, as report.json says it.
import type { Label } from '../case.ts'
import { hasPassed, type RunResult } from '../results.ts'
import type { Invariant, Mutant } from './mutant.ts'

export interface MutantVerdict {
  readonly name: string
  readonly breaks: string
  readonly must_break: Invariant
  /**
   * The invariant that caught it; null: it has survived, another one broke than the one that must, or row-level
   * security did not stop it.
   */
  readonly caught_by: Invariant | null
  /** The run that showed it, and what that said; of a survivor, what was seen instead. */
  readonly case: Label | null
  readonly what: string
  readonly runs: number
}

export function isCaught({ caught_by: caughtBy }: MutantVerdict): boolean {
  return caughtBy !== null
}

/**
 * @param runs those of the mutant, in their order.
 * @param controls the same of the product itself. One that fails shows nothing of the mutant.
 * @param walled of one that drops a tenant, the same with row-level security behind it.
 */
export function judgeMutant(
  mutant: Mutant,
  runs: readonly RunResult[],
  controls: readonly RunResult[],
  walled: readonly RunResult[] = [],
): MutantVerdict {
  const { name, breaks, caughtBy } = mutant
  const told = { name, breaks, must_break: caughtBy, runs: runs.length }
  const past = walled.filter((run) => !hasPassed(run))
  if (past.length > 0) {
    const what = `row-level security did not stop it: ${describe(past)}`
    return { ...told, caught_by: null, case: null, what }
  }
  const sound = new Set(controls.filter((run) => hasPassed(run)).map((run) => run.case))
  for (const run of runs) {
    const found = run.violations.find(({ invariant }) => invariant === caughtBy)
    if (found === undefined || !sound.has(run.case)) continue
    return { ...told, caught_by: caughtBy, case: run.case, what: found.what }
  }
  const own = new Set(runs.map((run) => run.case))
  const unsound = controls.filter((run) => own.has(run.case) && !hasPassed(run))
  const what =
    unsound.length === 0
      ? describe(runs)
      : `the product itself fails ${unsound.map((run) => run.case).join(', ')}: ${describe(unsound)}`
  return { ...told, caught_by: null, case: null, what }
}

function describe(runs: readonly RunResult[]): string {
  if (runs.length === 0) return 'it was not run'
  const broken = runs.flatMap(({ violations }) => violations)
  if (broken.length > 0) {
    const shown = broken.map(({ invariant, what }) => `invariant ${invariant}: ${what}`)
    return `broken: ${[...new Set(shown)].join('; ')}`
  }
  const missed = runs.filter(({ struck, faults }) => struck < faults.length).length
  const tail = missed === 0 ? '' : `, and in ${missed} of ${runs.length} runs the fault missed`
  return `nothing broke${tail}`
}
