// Parses the command line of `npm run fuzz`.
import { parseOptions, readNumber, UsageError } from '../../bench/options.ts'
import { corpus } from './corpus/corpus.ts'
import { type Case, decodeCase } from './draft.ts'
import type { RunOptions } from './run.ts'

export interface FuzzOptions extends RunOptions {
  readonly help: boolean
}

export const HELP = `Usage: npm run fuzz -- [options]

Sends bad input to the service: first the hand-picked cases in verify/fuzz/corpus, then
random requests from openapi.yaml that each have a defect, last random requests that may
be valid. Every answer must match openapi.yaml and must not be 5xx. Refused requests
must not reach the provider or change a table, and no secret may be logged.
Starts its own PostgreSQL, Stripe stand-in, worker and API.

--requests <n>  Number of random requests. Default: 100000, which takes some minutes.
--seed <n>      Repeat the random requests of this seed. Default: a random seed.
--case <line>   Send one request only: the line of a failure in the report, or the name
                of a case in the corpus.
-h, --help      Print this help.

Ctrl-C stops and removes everything.
Exit code: 0 all passed, 1 some failed, 2 usage error, 3 the suite itself failed,
130 interrupted.
`

const REQUESTS = { usual: 100_000, min: 0, max: 100_000_000 }
/** Each batch adds its number to the seed, and fast-check's seeds have 32 bits. */
const SEED_MAX = 2 ** 31 - 1_000_000

/**
 * @param chance a number from 0 up to 1, for the default seed.
 * @throws UsageError if an option is unknown or out of bounds, or names no case.
 */
export function readOptions(args: readonly string[], chance: number): FuzzOptions {
  const values = parseOptions(args, {
    requests: { type: 'string' },
    seed: { type: 'string' },
    case: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  })
  const seed = { usual: Math.floor(chance * SEED_MAX), min: 0, max: SEED_MAX }
  return {
    help: values.help ?? false,
    requests: readNumber('--requests', values.requests, REQUESTS),
    seed: readNumber('--seed', values.seed, seed),
    only: values.case === undefined ? undefined : readCase(values.case),
  }
}

function readCase(text: string): Case {
  const named = corpus.find(({ label }) => label === text)
  if (named !== undefined) return named
  try {
    return decodeCase(text)
  } catch {
    throw new UsageError(
      '--case must be the line of a failure, or the name of a case in the corpus',
    )
  }
}
