// What became of a mutant, as report.json says it.
import type { Label } from '../case.ts'
import type { Invariant, Mutant } from './mutant.ts'
import type { RunResult } from '../results.ts'

export interface MutantVerdict {
  readonly name: string
  readonly breaks: string
  readonly must_break: Invariant
  /** The invariant that caught it; null: it has survived, or another one broke than the one that must. */
  readonly caught_by: Invariant | null
  /** The run that showed it, and what that said; of a survivor, what else was seen. */
  readonly case: Label | null
  readonly what: string
  readonly runs: number
}

/** @param runs those of the mutant, in their order. */
export function judgeMutant(mutant: Mutant, runs: readonly RunResult[]): MutantVerdict {
  const { name, breaks, caughtBy } = mutant
  const told = { name, breaks, must_break: caughtBy, runs: runs.length }
  for (const run of runs) {
    const found = run.violations.find(({ invariant }) => invariant === caughtBy)
    if (found === undefined) continue
    return { ...told, caught_by: caughtBy, case: run.case, what: found.what }
  }
  return { ...told, caught_by: null, case: null, what: describeSurvival(runs) }
}

function describeSurvival(runs: readonly RunResult[]): string {
  if (runs.length === 0) return 'it was not run'
  const others = runs.flatMap(({ violations }) => violations)
  if (others.length > 0) {
    const shown = others.map(({ invariant, what }) => `invariant ${invariant}: ${what}`)
    return `broken instead: ${[...new Set(shown)].join('; ')}`
  }
  const missed = runs.filter(({ struck, faults }) => struck < faults.length).length
  const tail = missed === 0 ? '' : `, and in ${missed} of ${runs.length} runs the fault missed`
  return `nothing broke${tail}`
}
