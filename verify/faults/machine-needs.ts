// Tells which scenarios and mutants a machine cannot make, because a program is not installed.
import { findProgram, type Program } from '../../test/support/find-program.ts'
import { readLabel } from './case.ts'
import { mutants } from './mutants/mutants.ts'
import type { Mutant } from './mutants/mutant.ts'
import { needsOf, scenarios } from './scenarios.ts'

export interface Possible {
  readonly scenarios: readonly string[]
  readonly mutants: readonly Mutant[]
  /** What is left out, and why, one line each. */
  readonly leftOut: readonly string[]
}

export function findPossible(
  isInstalled = (program: Program): boolean => findProgram(program) !== undefined,
): Possible {
  const missing = (scenario: string) => findMissing(scenario, isInstalled)
  const names = scenarios.map(({ name }) => name)
  const missingTo = ({ shownBy }: Mutant) =>
    shownBy.map((label) => missing(readLabel(label).scenario)).find((program) => program)
  const leftOut = [
    ...names.map((name) => [name, missing(name)]),
    ...mutants.map((mutant) => [`mutant ${mutant.name}`, missingTo(mutant)]),
  ]
  return {
    scenarios: names.filter((name) => missing(name) === undefined),
    mutants: mutants.filter((mutant) => missingTo(mutant) === undefined),
    leftOut: leftOut.flatMap(([what, program]) =>
      program === undefined ? [] : `left out: ${what}, because ${program} is not installed`,
    ),
  }
}

function findMissing(
  scenario: string,
  isInstalled: (program: Program) => boolean,
): Program | undefined {
  const { pooled = false, redis = false } = needsOf({ scenario, injections: [] })
  if (pooled && !isInstalled('pgbouncer')) return 'pgbouncer'
  return redis && !isInstalled('redis-server') ? 'redis-server' : undefined
}
