// Reads the command-line options of `npm run model`, and holds its help text.
import { parseOptions, readNumber, UsageError } from '../../../bench/options.ts'
import { mutants } from '../mutants/mutants.ts'
import { spaces } from '../space/spaces.ts'

export interface ModelOptions {
  readonly help: boolean
  /** Names of the spaces to explore. */
  readonly spaces: readonly string[]
  /** Names of the mutants to check. */
  readonly mutants: readonly string[]
  /** Maximum number of paths to replay on PostgreSQL. */
  readonly paths: number
  /** Number of random histories to run on both stores. */
  readonly histories: number
  readonly seed: number
  /** Number of processes that explore in parallel. */
  readonly processes: number
}

export const HELP = `Usage: npm run model -- [options]

Explores every order in which the programs of the product can do what they do, over a store
in memory that executes their very statements, and a provider that may do anything: workers
that crash and leases that run out under them, lost connections, calls that arrive late, keys
that are forgotten, the sweeper, the reaper, the reconciler and clients that retry. Every move
is checked. The store in memory is held to PostgreSQL by random histories, paths of the model
are replayed there, and mutants of the product must be found.
Needs nothing: it starts its own PostgreSQL.

--space <name>     Explores that space alone; "none" for none.
--mutant <name>    Looks for that mutant alone; "none" for none.
--paths <n>        Paths that are replayed on PostgreSQL at most: by default as many as it takes
                   to take every step of the store.
--histories <n>    Random histories on both stores: 200 by default.
--seed <n>         Draws the same histories again: another one each time by default.
--processes <n>    How many explore at a time: 2 by default.
-h, --help         Prints this.

Ctrl-C stops and removes everything.
Exit code: 0 all passed, 1 some failed, 2 wrong options, 3 the model itself failed,
130 interrupted.
`

const SEED_MAX = 2 ** 31 - 1

/**
 * @param randomFraction a number in [0, 1), used as the seed if `--seed` is absent.
 * @throws UsageError when an option is unknown, out of range, or names no space or mutant.
 */
export function readOptions(args: readonly string[], randomFraction: number): ModelOptions {
  const values = parseOptions(args, {
    space: { type: 'string' },
    mutant: { type: 'string' },
    paths: { type: 'string' },
    histories: { type: 'string' },
    seed: { type: 'string' },
    processes: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const seed = { usual: Math.floor(randomFraction * SEED_MAX), min: 0, max: SEED_MAX }
  return {
    help: values.help ?? false,
    spaces: choose('space', values.space, namesOf(spaces)),
    mutants: choose('mutant', values.mutant, namesOf(mutants)),
    paths: readNumber('--paths', values.paths, { usual: 100_000, min: 0, max: 100_000 }),
    histories: readNumber('--histories', values.histories, { usual: 200, min: 0, max: 1_000_000 }),
    seed: readNumber('--seed', values.seed, seed),
    processes: readNumber('--processes', values.processes, { usual: 2, min: 1, max: 64 }),
  }
}

const namesOf = (named: readonly { readonly name: string }[]): string[] =>
  named.map(({ name }) => name)

function choose(
  what: string,
  name: string | undefined,
  names: readonly string[],
): readonly string[] {
  if (name === undefined) return names
  if (name === 'none') return []
  if (names.includes(name)) return [name]
  const known = names.map((other) => `  ${other}`)
  throw new UsageError(`no ${what} is called "${name}"; there are\n${known.join('\n')}`)
}
