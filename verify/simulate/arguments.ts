// What `npm run simulate` is asked for on its command line.
import { parseArgs } from 'node:util'
import { SEED_MAX } from './random.ts'

export interface SimulationOptions {
  readonly help: boolean
  readonly payments: number
  /** How many of them are under way at a time. */
  readonly concurrency: number
  /** Whether the provider fails, and clients hang up. */
  readonly faults: boolean
  /** Undefined: one is made up. */
  readonly seed: number | undefined
  /** How long is waited at the end until everything has settled. */
  readonly settleSeconds: number
  /** Whether a stack is started for this run alone. */
  readonly stack: boolean
  /** Where a running stack is; undefined: where `npm start` has put it. */
  readonly url: string | undefined
  readonly apiKey: string | undefined
  readonly providerUrl: string | undefined
}

export const HELP = `Usage: npm run simulate -- [options]

Sends payments, captures, cancels and refunds through the client to a running stack,
some of them twice, some under a key of others. Then it compares what the API says
with what the mock provider has on its own log. Start the stack before, with
"npm start" in another terminal: where it is and its API key are found by themselves.

--payments <n>       How many payments: 500 by default.
--concurrency <n>    How many of them at a time: 16 by default.
--faults             The provider resets, hangs, fails and lies meanwhile, and
                     clients hang up and come back with the same key.
--seed <n>           Repeats the payments and faults of a run that has printed it.
--settle-seconds <n> How long to wait at the end until nothing is unsettled: 180.
--stack              Starts a stack of its own on free ports, with short time limits,
                     and removes it afterwards. Needs no "npm start".
--url <url>          Where the API is, or API_URL: by default where HOST and PORT say.
--api-key <key>      A tenant's key, or API_KEY: by default the demo tenant's, which
                     npm start prints and keeps in the folder DATA_DIR.
--provider-url <url> Where the mock provider is, or PROVIDER_URL: by default on this
                     machine, where MOCK_PROVIDER_PORT says.
-h, --help           Prints this.

Ctrl-C stops sending, and reports on what was sent; a second one does not wait until
that has settled.
Exit code: 0 every invariant holds, 1 one is broken, 2 wrong options, 3 not simulated,
130 interrupted, and what was sent holds.
`

export class UsageError extends Error {
  override name = 'UsageError'
}

/** @throws UsageError when an option is unknown, out of its bounds or does not go with another. */
export function readArguments(args: readonly string[]): SimulationOptions {
  const { values } = parse(args)
  const { url, 'api-key': apiKey, 'provider-url': providerUrl, stack = false } = values
  if (stack && [url, apiKey, providerUrl].some((place) => place !== undefined)) {
    throw new UsageError('--stack has places and a key of its own: leave the others out')
  }
  return {
    help: values.help ?? false,
    payments: readNumber('--payments', values.payments, 1, 1_000_000) ?? 500,
    concurrency: readNumber('--concurrency', values.concurrency, 1, 500) ?? 16,
    faults: values.faults ?? false,
    seed: readNumber('--seed', values.seed, 0, SEED_MAX),
    settleSeconds: readNumber('--settle-seconds', values['settle-seconds'], 0, 86_400) ?? 180,
    stack,
    url: readUrl('--url', url),
    apiKey,
    providerUrl: readUrl('--provider-url', providerUrl),
  }
}

function parse(args: readonly string[]) {
  const options = {
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
  } as const
  try {
    return parseArgs({ args: [...args], options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function readNumber(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}`)
}

/** @throws UsageError when it is none of http or https. */
export function readUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? '')) {
    throw new UsageError(`${name} must be an http:// or https:// URL`)
  }
  return text.replace(/\/+$/, '')
}
