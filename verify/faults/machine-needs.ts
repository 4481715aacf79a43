// Tells which scenarios and mutants a machine cannot make, because a program is not installed.
import { hasPgBouncer } from '../../test/support/pgbouncer.ts'
import { hasRedisServer } from '../../test/support/redis-server.ts'
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

/** The programs that the machine has. */
interface Installed {
  readonly pgBouncer: boolean
  readonly redisServer: boolean
}

export function findPossible(
  installed: Installed = { pgBouncer: hasPgBouncer, redisServer: hasRedisServer },
): Possible {
  const missing = (scenario: string) => findMissing(scenario, installed)
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

function findMissing(scenario: string, installed: Installed): string | undefined {
  const { pooled, redis } = needsOf({ scenario, injections: [] })
  if (pooled === true && !installed.pgBouncer) return 'PgBouncer'
  return redis === true && !installed.redisServer ? 'redis-server' : undefined
}
