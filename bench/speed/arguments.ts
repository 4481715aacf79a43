// What `npm run bench` is asked for on its command line.
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseOptions, readNumber } from '../options.ts'

export interface BenchOptions {
  readonly help: boolean
  /** Whether DBOS Transact does the same payments beside us. */
  readonly peers: boolean
  /** How long each measurement lasts. */
  readonly seconds: number
  /** How often everything is measured, in turns. */
  readonly rounds: number
  /** How many clients wait for an answer at a time. */
  readonly concurrencies: readonly number[]
  /** How many finished payments are there before anything is measured. */
  readonly payments: number
  /** Where the database is kept while it runs. */
  readonly folder: string
}

export const HELP = `Usage: npm run bench -- [options]

Measures the service against what its own database and Express allow, in rounds
that take turns, so that a busy moment of the machine hits all alike. Starts a
stack of its own: PostgreSQL with fsync on, API, worker and mock provider as
processes of their own. Uses no database, provider or setting of yours.

--quick         About a minute: short measurements, and few of one client alone.
--peers         DBOS Transact does the same payments, for comparison.
--seconds <n>   How long each measurement lasts: 5 by default.
--rounds <n>    How often each is repeated: 3 by default, and at least.
--payments <n>  Finished payments in the tables beforehand: 20000 by default.
--folder <dir>  Where the database is kept while it runs: the system's folder for
                temporary files by default.
-h, --help      Prints this.

Prints one table, and writes bench-report/latest.json and latest.html.
Exit code: 0 measured, 1 an answer was not the expected one, 2 wrong options,
3 not measured, 130 interrupted.
`

const QUICK = { seconds: 1.2, concurrencies: [1, 16] }
const USUAL = { seconds: 5, concurrencies: [1, 16, 64] }

/** @throws UsageError when an option is unknown or out of its bounds. */
export function readArguments(args: readonly string[]): BenchOptions {
  const values = parse(args)
  const usual = values.quick === true ? QUICK : USUAL
  return {
    help: values.help ?? false,
    peers: values.peers ?? false,
    seconds: readNumber('--seconds', values.seconds, { usual: usual.seconds, min: 1, max: 600 }),
    rounds: readNumber('--rounds', values.rounds, { usual: 3, min: 3, max: 100 }),
    concurrencies: usual.concurrencies,
    payments: readNumber('--payments', values.payments, {
      usual: 20_000,
      min: 1_000,
      max: 10_000_000,
    }),
    folder: resolve(values.folder ?? tmpdir()),
  }
}

function parse(args: readonly string[]) {
  return parseOptions(args, {
    quick: { type: 'boolean' },
    peers: { type: 'boolean' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    payments: { type: 'string' },
    folder: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
}
