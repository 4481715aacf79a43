// Parses the command line of `npm run bench`.
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { parseOptions, readNumber, UsageError } from '../options.ts'

export interface BenchOptions {
  readonly help: boolean
  /** What to measure: see the help. */
  readonly mode: Mode
  /** Whether DBOS Transact is measured with the same payments. */
  readonly peers: boolean
  /** How long each measurement lasts. */
  readonly seconds: number
  /** How often each measurement is repeated. */
  readonly rounds: number
  /** How many clients wait for an answer at a time. */
  readonly concurrencies: readonly number[]
  /** How many completed payments are seeded before the measurements. */
  readonly payments: number
  /** The duration of a soak. */
  readonly minutes: number
  /** Requests per second of a soak. 0 means half of the throughput measured before it. */
  readonly rate: number
  /** The largest number of payments of `--scale`. */
  readonly scaleMax: number
  /** The number of slow clients. */
  readonly sockets: number
  /** Where the database is kept while it runs. */
  readonly folder: string
}

export type Mode = 'speed' | 'soak' | 'scale' | 'slow-clients'

export const HELP = `Usage: npm run bench -- [options]
       npm run bench -- --soak <minutes> [--rate <n>] [--payments <n>] [--folder <dir>]
       npm run bench -- --scale [--scale-max <n>] [--quick] [--folder <dir>]
       npm run bench -- --slow-clients [--sockets <n>] [--quick] [--folder <dir>]

Compares the service with lean statements on the same server, with Express, and
with itself without idempotency. Every round measures everything once, so that a
busy moment of the machine affects all of it.
Starts a separate stack: PostgreSQL with fsync on, API, worker and Stripe stand-in
as separate processes. Uses no database, provider or setting of yours.

--quick         About a minute: short measurements, and few with a single client.
--peers         Also measures DBOS Transact with the same payments.
--seconds <n>   Duration of each measurement: 5 by default.
--rounds <n>    Repetitions of each measurement: 3 by default. Fewer compare nothing.
--payments <n>  Completed payments in the tables before: 20000 by default.
--folder <dir>  Folder of the temporary database: the system's folder for
                temporary files by default.
-h, --help      Prints this help.

Long runs, a steady load with the usual maintenance and short retention:
--soak <n>      Duration in minutes: use 20; less than 5 proves nothing.
--rate <n>      Requests per second: half of the measured throughput by default.

Growing tables, and more workers:
--scale         10^4, 10^5 and 10^6 payments; then one to four workers.
--scale-max <n> The largest of these: 1000000 by default, 10000 to 10000000.

The effect of slow clients, which hold connections and send little:
--slow-clients  Rounds without and with slow clients: 5 of 10 seconds by default.
--sockets <n>   Number of slow clients: 1000 by default, 100 to 5000.

Prints one table and writes bench-report/latest.json and latest.html. The names
are soak, scale or slow-clients for the other modes.
Exit code: 0 measured; 1 an answer was unexpected, a curve of the soak grows, or a plan
or a latency changes with size; 2 usage error; 3 not measured; 130 interrupted.
`

const QUICK = { seconds: 0.5, concurrencies: [1, 16] }
const USUAL = { seconds: 5, concurrencies: [1, 16, 64] }

/** In a short measurement two payments decide the p99, so it varies from round to round. */
const BESIDE_SLOW = { ...USUAL, seconds: 10 }

const MEASURED: readonly Mode[] = ['speed', 'scale', 'slow-clients']

/** The options: the bounds of numbers, and the modes that an option applies to, if not to all. */
const OPTIONS = {
  quick: { type: 'boolean', modes: MEASURED },
  peers: { type: 'boolean', modes: ['speed'] },
  seconds: { type: 'string', modes: MEASURED, min: 1, max: 600 },
  rounds: { type: 'string', modes: MEASURED, min: 1, max: 100 },
  payments: {
    type: 'string',
    modes: ['speed', 'soak', 'slow-clients'],
    min: 1_000,
    max: 10_000_000,
  },
  soak: { type: 'string', min: 1, max: 1_440 },
  rate: { type: 'string', modes: ['soak'], min: 1, max: 10_000 },
  scale: { type: 'boolean' },
  'scale-max': { type: 'string', modes: ['scale'], min: 10_000, max: 10_000_000 },
  'slow-clients': { type: 'boolean' },
  sockets: { type: 'string', modes: ['slow-clients'], min: 100, max: 5_000 },
  folder: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

/**
 * @throws UsageError when an option is unknown, out of its bounds, or does not apply to the mode.
 */
export function readArguments(args: readonly string[]): BenchOptions {
  const values = parseOptions(args, OPTIONS)
  const mode = modeOf(values)
  rejectIgnored(Object.keys(values), mode)
  const usual = durationsOf(mode, values.quick === true)
  const number = (name: NumberName, preset: number) =>
    readNumber(`--${name}`, values[name], { usual: preset, ...OPTIONS[name] })
  return {
    help: values.help ?? false,
    mode,
    peers: values.peers ?? false,
    seconds: number('seconds', usual.seconds),
    rounds: number('rounds', mode === 'slow-clients' ? 5 : 3),
    concurrencies: usual.concurrencies,
    payments: number('payments', 20_000),
    minutes: number('soak', 0),
    rate: number('rate', 0),
    scaleMax: number('scale-max', 1_000_000),
    sockets: number('sockets', 1_000),
    folder: resolve(values.folder ?? tmpdir()),
  }
}

type NumberName = 'seconds' | 'rounds' | 'payments' | 'soak' | 'rate' | 'scale-max' | 'sockets'

function durationsOf(mode: Mode, isQuick: boolean) {
  if (isQuick) return QUICK
  return mode === 'slow-clients' ? BESIDE_SLOW : USUAL
}

function modeOf(values: Partial<Record<Mode, unknown>>): Mode {
  const modes = (['soak', 'scale', 'slow-clients'] as const).filter(
    (mode) => values[mode] !== undefined,
  )
  const [mode = 'speed', other] = modes
  if (other !== undefined) throw new UsageError(`--${mode} and --${other} cannot be combined`)
  return mode
}

function rejectIgnored(names: readonly string[], mode: Mode): void {
  const options: Record<string, { type: string; modes?: readonly Mode[] }> = OPTIONS
  const ignored = names.find((name) => options[name]?.modes?.includes(mode) === false)
  if (ignored === undefined) return
  const beside = mode === 'speed' ? 'without --soak, --scale or --slow-clients' : `with --${mode}`
  throw new UsageError(`--${ignored} has no effect ${beside}`)
}
