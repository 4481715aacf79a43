// What `npm run bench` is asked for on its command line.
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseOptions, readNumber, UsageError } from '../options.ts'

export interface BenchOptions {
  readonly help: boolean
  /** How fast it is, whether it stays so for long, with much in its tables, or beside slow clients. */
  readonly mode: Mode
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
  /** Of a soak. */
  readonly minutes: number
  /** Requests per second of a soak; 0: half of what was measured beforehand. */
  readonly rate: number
  /** With how many payments in its tables a scale ends. */
  readonly scaleMax: number
  /** How many slow clients there are. */
  readonly sockets: number
  /** Where the database is kept while it runs. */
  readonly folder: string
}

export type Mode = 'speed' | 'soak' | 'scale' | 'slow-clients'

export const HELP = `Usage: npm run bench -- [options]
       npm run bench -- --soak <minutes> [--rate <n>] [--payments <n>] [--folder <dir>]
       npm run bench -- --scale [--scale-max <n>] [--quick] [--folder <dir>]
       npm run bench -- --slow-clients [--sockets <n>] [--quick] [--folder <dir>]

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

Does it stay so? A steady load, with the usual maintenance and short retention:
--soak <n>      For so many minutes; 20 tell something, below 5 nothing is settled.
--rate <n>      Requests per second: half of what the machine can do by default.

Does it stay so with much in its tables, and what do more workers bring?
--scale         With 10^4, 10^5 and 10^6 payments; then one to four workers.
--scale-max <n> The largest of these: 1000000 by default, 10000 to 10000000.

What do healthy clients notice of slow ones, who hold connections and do little?
--slow-clients  Rounds without and beside them: 5 of 10 seconds by default.
--sockets <n>   How many there are: 1000 by default, 100 to 5000.

Prints one table, and writes bench-report/latest.json and latest.html, or
the same as soak, scale or slow-clients.
Exit code: 0 measured, 1 an answer was not the expected one, a curve of the soak
grows, or a plan changes with size; 2 wrong options, 3 not measured, 130
interrupted.
`

const QUICK = { seconds: 0.5, concurrencies: [1, 16] }
const USUAL = { seconds: 5, concurrencies: [1, 16, 64] }

/** A p99 of a second's payments is that of two of them, and differs from round to round. */
const BESIDE_SLOW = { ...USUAL, seconds: 10 }
const ROUNDS: Readonly<Record<Mode, number>> = { speed: 3, soak: 3, scale: 3, 'slow-clients': 5 }

/** Beside --help and --folder, which always have a meaning. */
const MODES_OF: Readonly<Record<string, readonly Mode[]>> = {
  quick: ['speed', 'scale', 'slow-clients'],
  peers: ['speed'],
  seconds: ['speed', 'scale', 'slow-clients'],
  rounds: ['speed', 'scale', 'slow-clients'],
  payments: ['speed', 'soak', 'slow-clients'],
  rate: ['soak'],
  'scale-max': ['scale'],
  sockets: ['slow-clients'],
}

/** @throws UsageError when an option is unknown, out of its bounds, or means nothing beside the others. */
export function readArguments(args: readonly string[]): BenchOptions {
  const values = parse(args)
  const mode = modeOf(values)
  refuseStrangers(values, mode)
  const unhurried = mode === 'slow-clients' ? BESIDE_SLOW : USUAL
  const usual = values.quick === true ? QUICK : unhurried
  const number = (name: keyof typeof BOUNDS, preset: number) =>
    readNumber(`--${name}`, values[name], { usual: preset, ...BOUNDS[name] })
  return {
    help: values.help ?? false,
    mode,
    peers: values.peers ?? false,
    seconds: number('seconds', usual.seconds),
    rounds: number('rounds', ROUNDS[mode]),
    concurrencies: usual.concurrencies,
    payments: number('payments', 20_000),
    minutes: number('soak', 0),
    rate: number('rate', 0),
    scaleMax: number('scale-max', 1_000_000),
    sockets: number('sockets', 1_000),
    folder: resolve(values.folder ?? tmpdir()),
  }
}

const BOUNDS = {
  seconds: { min: 1, max: 600 },
  rounds: { min: 3, max: 100 },
  payments: { min: 1_000, max: 10_000_000 },
  soak: { min: 1, max: 1_440 },
  rate: { min: 1, max: 10_000 },
  'scale-max': { min: 10_000, max: 10_000_000 },
  sockets: { min: 100, max: 5_000 },
} as const

type Values = ReturnType<typeof parse>

function modeOf(values: Values): Mode {
  const asked = (['soak', 'scale', 'slow-clients'] as const).filter(
    (mode) => values[mode] !== undefined,
  )
  const [mode = 'speed', other] = asked
  if (other !== undefined) throw new UsageError(`--${mode} and --${other} are two runs`)
  return mode
}

function refuseStrangers(values: Values, mode: Mode): void {
  const strangers = Object.keys(values).filter((name) => MODES_OF[name]?.includes(mode) === false)
  const [stranger] = strangers
  if (stranger === undefined) return
  const beside = mode === 'speed' ? 'without --soak, --scale or --slow-clients' : `with --${mode}`
  throw new UsageError(`--${stranger} means nothing ${beside}`)
}

function parse(args: readonly string[]) {
  return parseOptions(args, {
    quick: { type: 'boolean' },
    peers: { type: 'boolean' },
    seconds: { type: 'string' },
    rounds: { type: 'string' },
    payments: { type: 'string' },
    soak: { type: 'string' },
    rate: { type: 'string' },
    scale: { type: 'boolean' },
    'scale-max': { type: 'string' },
    'slow-clients': { type: 'boolean' },
    sockets: { type: 'string' },
    folder: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
}
