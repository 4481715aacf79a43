// Parses the command line of `npm run simulate`.
import { parseOptions, readNumber, UsageError } from '../../bench/options.ts'
import { SEED_MAX } from './random.ts'

/** Where a stack runs. */
export interface Target {
  readonly url: string
  readonly providerUrl: string
  readonly apiKey: string
}

export interface SimulationOptions {
  readonly help: boolean
  readonly payments: number
  /** How many payments run at a time. */
  readonly concurrency: number
  /** Whether to inject faults: the provider fails, and clients hang up. */
  readonly faults: boolean
  /** By default a random one. */
  readonly seed: number
  /** A stack that runs. Undefined: the simulation starts one. */
  readonly target: Target | undefined
}

export const HELP = `Usage: npm run simulate -- [options]

Starts a stack with short time limits and sends payments, captures, cancels and refunds
through the client. Some requests are sent twice, some reuse the key of another request.
Then it compares the API's records with the log of the Stripe stand-in (the provider),
and removes the stack.

--payments <n>       Number of payments. Default: 500.
--concurrency <n>    Payments at a time. Default: 16.
--faults             Inject faults: the provider resets, hangs, fails and returns wrong
                     amounts; clients hang up and retry with the same key.
--seed <n>           Repeat the payments and faults of the run that printed this seed.
--url <url>          Send to the API of a stack that runs, such as that of npm start,
                     instead. The next two options say more of it.
--provider-url <url> The Stripe stand-in that this API calls.
--api-key <key>      A tenant's API key: npm start prints that of the demo tenant.
-h, --help           Print this help.

Ctrl-C stops sending, waits for final answers and prints the report.
Exit code: 0 all invariants hold, 1 an invariant is broken, 2 usage error, 3 the
simulation could not run, 130 interrupted.
`

/** @throws UsageError if an option is unknown, out of bounds or lacks another one. */
export function readArguments(args: readonly string[]): SimulationOptions {
  const values = parseOptions(args, {
    payments: { type: 'string' },
    concurrency: { type: 'string' },
    faults: { type: 'boolean' },
    seed: { type: 'string' },
    url: { type: 'string' },
    'provider-url': { type: 'string' },
    'api-key': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const usualSeed = Math.floor(Math.random() * SEED_MAX)
  return {
    help: values.help ?? false,
    payments: readNumber('--payments', values.payments, { usual: 500, min: 1, max: 1_000_000 }),
    concurrency: readNumber('--concurrency', values.concurrency, { usual: 16, min: 1, max: 500 }),
    faults: values.faults ?? false,
    seed: readNumber('--seed', values.seed, { usual: usualSeed, min: 0, max: SEED_MAX }),
    target: readTarget(values.url, values['provider-url'], values['api-key']),
  }
}

function readTarget(url?: string, providerUrl?: string, apiKey?: string): Target | undefined {
  if (url === undefined && providerUrl === undefined && apiKey === undefined) return undefined
  if (url === undefined || providerUrl === undefined || apiKey === undefined) {
    throw new UsageError('a stack that runs needs --url, --provider-url and --api-key')
  }
  return { url: readUrl('--url', url), providerUrl: readUrl('--provider-url', providerUrl), apiKey }
}

/** @throws UsageError if the text is not an http or https URL. */
function readUrl(name: string, text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? '')) {
    throw new UsageError(`${name} must be an http:// or https:// URL`)
  }
  return text.replace(/\/+$/, '')
}
