// Reads the command-line options of `npm run model`, and holds its help text.
import { parseOptions, readNumber, UsageError } from '../../../bench/options.ts'
import { mutants } from '../mutants/mutants.ts'
import { slices, spaces } from '../space/spaces.ts'

export interface ModelOptions {
  readonly help: boolean
  /** Names of the spaces to explore. */
  readonly spaces: readonly string[]
  /** Names of the mutants to check. */
  readonly mutants: readonly string[]
  /** Number of random histories to run on both stores. */
  readonly histories: number
  readonly seed: number
  /** Number of processes that explore in parallel. */
  readonly processes: number
}

export const HELP = `Usage: npm run model -- [options]

Explicit-state model checker for the product. It runs the product's own programs (workers,
sweeper, reaper, outcome resolver, client requests) and explores all their interleavings
within the bounds of each space. The database is an in-memory store that executes the
product's SQL; the payment provider is a model. The faults are: crashes, leases that run out
while their owner is alive, lost connections, late calls, and idempotency keys that the
provider forgets.

A run does three things:
  spaces     explores every state of each space and checks the invariants on every
             transition; a violation is reported with its trace
  histories  runs random statements on the in-memory store and on PostgreSQL, and compares
             the results
  mutants    checks that each mutant of the product violates the expected invariant

The command starts its own PostgreSQL. It needs no other service.

--quick            Takes about a minute: explores a small part of each space with one key or
                   with batches, of one with events and of one with a fallback, and two small
                   spaces of one reference. Checks the mutants with the smallest spaces. No histories.
--space <name>     Explore only this space; "none" for no space. Default: all.
--mutant <name>    Check only this mutant; "none" for no mutant. Default: all.
--histories <n>    Run n random histories; 0 for none. Default: 200.
--seed <n>         Seed of the histories. Default: random; the run prints it.
--processes <n>    Number of processes that work in parallel. Default: 2.
-h, --help         Print this help.

An unknown name for --space or --mutant prints the list of names.

The last line is "N passed, N failed". Ctrl-C stops the run and removes all its files.
Exit codes: 0 all passed, 1 some failed, 2 usage error, 3 the model checker itself failed,
130 interrupted.
`

/** Their spaces have only a few hundred states. */
const SMALLEST_MUTANTS = [
  'capture-posted-twice',
  'next-phase-without-a-record',
  'check-then-insert',
  'refusal-fails-the-batch',
]

const SEED_MAX = 2 ** 31 - 1

/**
 * @param randomFraction a number in [0, 1), used as the seed if `--seed` is absent.
 * @throws UsageError when an option is unknown, out of range, or names no space or mutant.
 */
export function readOptions(args: readonly string[], randomFraction: number): ModelOptions {
  const values = parseOptions(args, {
    quick: { type: 'boolean' },
    space: { type: 'string' },
    mutant: { type: 'string' },
    histories: { type: 'string' },
    seed: { type: 'string' },
    processes: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const quick = values.quick ?? false
  const histories = { usual: quick ? 0 : 200, min: 0, max: 1_000_000 }
  const seed = { usual: Math.floor(randomFraction * SEED_MAX), min: 0, max: SEED_MAX }
  return {
    help: values.help ?? false,
    spaces: choose('space', values.space, {
      usual: namesOf(quick ? slices : spaces),
      all: namesOf([...spaces, ...slices]),
    }),
    mutants: choose('mutant', values.mutant, {
      usual: quick ? SMALLEST_MUTANTS : namesOf(mutants),
      all: namesOf(mutants),
    }),
    histories: readNumber('--histories', values.histories, histories),
    seed: readNumber('--seed', values.seed, seed),
    processes: readNumber('--processes', values.processes, { usual: 2, min: 1, max: 64 }),
  }
}

const namesOf = (named: readonly { readonly name: string }[]): string[] =>
  named.map(({ name }) => name)

function choose(
  kind: string,
  name: string | undefined,
  { usual, all }: { readonly usual: readonly string[]; readonly all: readonly string[] },
): readonly string[] {
  if (name === undefined) return usual
  if (name === 'none') return []
  if (all.includes(name)) return [name]
  const knownNames = all.map((other) => `  ${other}`)
  throw new UsageError(`unknown ${kind} "${name}"; one of\n${knownNames.join('\n')}`)
}
