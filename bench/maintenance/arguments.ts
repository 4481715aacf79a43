// What `npm run bench:maintenance` is asked for on its command line.
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseOptions, readNumber } from '../options.ts'

export interface BenchOptions {
  readonly help: boolean
  /** How many completed keys the database is seeded with. */
  readonly keys: number
  /** How long each round of load lasts. */
  readonly seconds: number
  /** How many rounds without reaping, and as many with it. */
  readonly rounds: number
  /** Requests per second; 0 is as many as eight clients can send one after the other. */
  readonly rate: number
  /** Where the database is kept while it runs. */
  readonly folder: string
}

export const HELP = `Usage: npm run bench:maintenance -- [options]

Seeds a database of its own with completed keys, then measures what keeps it in
order: the plans of the statements of sweeper, outcome resolver and reaper, the
times of their batches, and the API's latency while keys are reaped. Uses no
database, provider or setting of yours.

--keys <n>     How many completed keys: 1000000 by default, 10000 to 50000000.
--quick        100000 keys and rounds of 3 seconds, for a first look.
--seconds <n>  How long each round of load lasts: 10 by default.
--rounds <n>   Rounds without and as many with reaping: 3 by default, and at least.
--rate <n>     Requests per second: 80 by default; 0 is as many as 8 clients can.
--folder <dir> Where the database is kept while it runs: the system's folder for
               temporary files by default. How much it needs is printed first.
-h, --help     Prints this.

Prints plans and one table, and writes bench-report/maintenance.json.
Exit code: 0 measured, 1 a statement reads a large table from end to end,
2 wrong options, 3 not measured, 130 interrupted.
`

const QUICK = { keys: 100_000, seconds: 3 }
const USUAL = { keys: 1_000_000, seconds: 10 }

/** @throws UsageError when an option is unknown or out of its bounds. */
export function readArguments(args: readonly string[]): BenchOptions {
  const values = parse(args)
  const usual = values.quick === true ? QUICK : USUAL
  return {
    help: values.help ?? false,
    keys: readNumber('--keys', values.keys, { usual: usual.keys, min: 10_000, max: 50_000_000 }),
    seconds: readNumber('--seconds', values.seconds, { usual: usual.seconds, min: 1, max: 600 }),
    rounds: readNumber('--rounds', values.rounds, { usual: 3, min: 3, max: 100 }),
    rate: readNumber('--rate', values.rate, { usual: 80, min: 0, max: 10_000 }),
    folder: resolve(values.folder ?? tmpdir()),
  }
}

function parse(args: readonly string[]) {
  return parseOptions(args, {
    keys: { type: 'string' },
    quick: { type: 'boolean' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    rate: { type: 'string' },
    folder: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
}
