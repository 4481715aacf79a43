// What `npm run faults` is asked for on its command line.
import { parseOptions, readNumber, UsageError } from '../../bench/options.ts'
import { SEED_MAX } from '../simulate/random.ts'
import { readLabel, type Case } from './case.ts'
import { faultNamed } from './faults.ts'
import type { Mutant } from './mutants/mutant.ts'
import { mutants } from './mutants/mutants.ts'
import { providerNamed } from './providers.ts'
import { scenarioNamed } from './scenarios.ts'

export interface FaultsOptions {
  readonly help: boolean
  readonly quick: boolean
  /** The one run to make, if only one is asked for. */
  readonly only: Case | undefined
  /** Mutants alone, without the product; undefined: after the product, all of them. */
  readonly mutants: readonly Mutant[] | undefined
  /** How often to make it. */
  readonly times: number
  /** What is sampled is drawn by it. */
  readonly seed: number
  /** So many runs are made at a time. */
  readonly lanes: number
  /** Of the soak, in minutes: alone, if it is asked for, else beside all else; undefined: none. */
  readonly soak: { readonly minutes: number; readonly alone: boolean } | undefined
}

export const HELP = `Usage: npm run faults -- [options]

Does something terrible at every point of the protocols that the real processes speak,
lets the service recover, and checks the ten invariants of ARCHITECTURE.md each time.
Needs nothing: it starts its own PostgreSQL, mock provider, API and worker processes.

--quick          All points of payment.create under SIGKILL and connection reset, and a
                 sample of all else: a few minutes. Without it everything, over an hour, but
                 for as many runs of the variants of payment.create as there is time for.
--case <label>   Repeats one run, by the line that has reported it.
--mutant <name>  Runs that mutant alone, or with "all" each of them: the product with one
                 rule taken away, which an invariant has to catch.
--soak <minutes> Soaks alone: a steady load, with a fault every few seconds. Without any option
                 a soak of 15 minutes goes on beside the suite; with --quick there is none.
--times <n>      How often, with --case: once by default.
--seed <n>       Draws another sample: 1 by default.
--lanes <n>      How many runs are made at a time: 7 by default, for two cores.
-h, --help       Prints this.

Ctrl-C stops and removes everything.
Exit code: 0 none failed (what missed a later strike, or needs a disk that this machine
does not lend, is told apart), 1 some failed, 2 wrong options, 3 the suite itself failed,
130 interrupted.
`

const SOAK = { usual: 15, min: 1, max: 24 * 60 }
const LANES = { usual: 7, min: 1, max: 32 }

/** @throws UsageError when an option is unknown or out of its bounds, or names no case. */
export function readOptions(args: readonly string[]): FaultsOptions {
  const values = parseOptions(args, {
    quick: { type: 'boolean' },
    case: { type: 'string' },
    mutant: { type: 'string' },
    times: { type: 'string' },
    seed: { type: 'string' },
    lanes: { type: 'string' },
    soak: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const only = values.case === undefined ? undefined : readCase(values.case)
  if (only === undefined && values.times !== undefined) {
    throw new UsageError('--times goes with --case')
  }
  return {
    help: values.help ?? false,
    quick: values.quick ?? false,
    only,
    mutants: values.mutant === undefined ? undefined : readMutants(values.mutant),
    times: readNumber('--times', values.times, { usual: 1, min: 1, max: 10_000 }),
    seed: readNumber('--seed', values.seed, { usual: 1, min: 0, max: SEED_MAX }),
    lanes: readNumber('--lanes', values.lanes, LANES),
    soak: readSoak(values.soak, values.quick ?? false),
  }
}

function readSoak(text: string | undefined, quick: boolean): FaultsOptions['soak'] {
  if (text === undefined && quick) return undefined
  if (quick) throw new UsageError('--soak does not go with --quick')
  return { minutes: readNumber('--soak', text, SOAK), alone: text !== undefined }
}

function readMutants(name: string): readonly Mutant[] {
  const chosen = name === 'all' ? mutants : mutants.filter((mutant) => mutant.name === name)
  if (chosen.length > 0) return chosen
  const names = mutants.map((mutant) => `  ${mutant.name}`)
  throw new UsageError(`no mutant is called "${name}"; there are\n${names.join('\n')}`)
}

function readCase(label: string): Case {
  try {
    const read = readLabel(label)
    scenarioNamed(read.scenario)
    providerNamed(read.provider)
    for (const { fault } of read.strikes) faultNamed(fault)
    return read
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
