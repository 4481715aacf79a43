// Parses the command line of `npm run simulate`.
import { parseOptions, readNumber, UsageError } from '../../bench/options.ts'
import { SEED_MAX } from './random.ts'

export interface SimulationOptions {
  readonly help: boolean
  readonly payments: number
  /** How many payments run at a time. */
  readonly concurrency: number
  /** Whether to inject faults: the provider fails, and clients hang up. */
  readonly faults: boolean
  /** By default a random one. */
  readonly seed: number
  /** How long to wait at the end for final answers. */
  readonly settleSeconds: number
  /** Whether to start a stack for this run only. */
  readonly stack: boolean
  /** The URL of a running stack. Undefined: the one that `npm start` started. */
  readonly url: string | undefined
  readonly apiKey: string | undefined
  readonly providerUrl: string | undefined
}

const SETTLE_SECONDS = { usual: 180, min: 0, max: 86_400 }

export const HELP = `Usage: npm run simulate -- [options]

Sends payments, captures, cancels and refunds through the client to a running stack.
Some requests are sent twice, some reuse the key of another request. Then it compares
the API's records with the log of the Stripe stand-in (the provider). Start the stack
with "npm start" in another terminal first: its address and its API key are detected.

--payments <n>       Number of payments. Default: 500.
--concurrency <n>    Payments at a time. Default: 16.
--faults             Inject faults: the provider resets, hangs, fails and returns wrong
                     amounts; clients hang up and retry with the same key.
--seed <n>           Repeat the payments and faults of the run that printed this seed.
--settle-seconds <n> How long to wait at the end for final answers. Default: 180.
--stack              Start a separate stack on free ports with short time limits, and
                     remove it afterwards. Does not need "npm start".
--url <url>          URL of the API, or API_URL. Default: from HOST and PORT.
--api-key <key>      A tenant's API key, or API_KEY. Default: that of the demo tenant,
                     which npm start prints and stores in the folder DATA_DIR.
--provider-url <url> URL of the Stripe stand-in, or PROVIDER_URL. Default: this machine
                     and MOCK_PROVIDER_PORT.
-h, --help           Print this help.

Ctrl-C stops sending, waits for final answers and prints the report. A second Ctrl-C
stops waiting.
Exit code: 0 all invariants hold, 1 an invariant is broken, 2 usage error, 3 the
simulation could not run, 130 interrupted, and all invariants hold so far.
`

/** @throws UsageError if an option is unknown, out of bounds or conflicts with another. */
export function readArguments(args: readonly string[]): SimulationOptions {
  const values = parseOptions(args, {
    payments: { type: 'string' },
    concurrency: { type: 'string' },
    faults: { type: 'boolean' },
    seed: { type: 'string' },
    'settle-seconds': { type: 'string' },
    stack: { type: 'boolean' },
    url: { type: 'string' },
    'api-key': { type: 'string' },
    'provider-url': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const { url, 'api-key': apiKey, 'provider-url': providerUrl, stack = false } = values
  if (stack && [url, apiKey, providerUrl].some((option) => option !== undefined)) {
    throw new UsageError('--stack cannot be combined with --url, --api-key or --provider-url')
  }
  const usualSeed = Math.floor(Math.random() * SEED_MAX)
  return {
    help: values.help ?? false,
    payments: readNumber('--payments', values.payments, { usual: 500, min: 1, max: 1_000_000 }),
    concurrency: readNumber('--concurrency', values.concurrency, { usual: 16, min: 1, max: 500 }),
    faults: values.faults ?? false,
    seed: readNumber('--seed', values.seed, { usual: usualSeed, min: 0, max: SEED_MAX }),
    settleSeconds: readNumber('--settle-seconds', values['settle-seconds'], SETTLE_SECONDS),
    stack,
    url: readUrl('--url', url),
    apiKey,
    providerUrl: readUrl('--provider-url', providerUrl),
  }
}

/** @throws UsageError if the text is not an http or https URL. */
export function readUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? '')) {
    throw new UsageError(`${name} must be an http:// or https:// URL`)
  }
  return text.replace(/\/+$/, '')
}
