// Tells which scenarios and mutants cannot be made, because a program is not installed or no extra is a
// second provider.
import { findProgram, type Program } from '../../test/support/find-program.ts'
import { readLabel } from './case.ts'
import { mutants } from './mutants/mutants.ts'
import type { Mutant } from './mutants/mutant.ts'
import { needsOf, scenarios } from './scenarios.ts'
import { secondProvider } from './second-provider-kind.ts'

export interface Possible {
  readonly scenarios: readonly string[]
  readonly mutants: readonly Mutant[]
  /** What is left out, and why, one line each. */
  readonly leftOut: readonly string[]
}

export function findPossible(
  isInstalled = (program: Program): boolean => findProgram(program) !== undefined,
  hasSecond = secondProvider !== undefined,
): Possible {
  const missing = (scenario: string) => findMissing(scenario, isInstalled, hasSecond)
  const names = scenarios.map(({ name }) => name)
  const missingTo = ({ shownBy }: Mutant) =>
    shownBy.map((label) => missing(readLabel(label).scenario)).find((reason) => reason)
  const leftOut = [
    ...names.map((name) => [name, missing(name)]),
    ...mutants.map((mutant) => [`mutant ${mutant.name}`, missingTo(mutant)]),
  ]
  return {
    scenarios: names.filter((name) => missing(name) === undefined),
    mutants: mutants.filter((mutant) => missingTo(mutant) === undefined),
    leftOut: leftOut.flatMap(([what, reason]) =>
      reason === undefined ? [] : `left out: ${what}, because ${reason}`,
    ),
  }
}

/** Returns the reason. */
function findMissing(
  scenario: string,
  isInstalled: (program: Program) => boolean,
  hasSecond: boolean,
): string | undefined {
  const needs = needsOf({ scenario, injections: [] })
  const programs = [
    ...(needs.pooled === true ? (['pgbouncer'] as const) : []),
    ...(needs.redis === true ? (['redis-server'] as const) : []),
  ]
  const program = programs.find((one) => !isInstalled(one))
  if (program !== undefined) return `${program} is not installed`
  return needs.secondProvider === true && !hasSecond ? 'no extra is a second provider' : undefined
}
