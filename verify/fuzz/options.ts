// What `npm run fuzz` is asked for on its command line.
import { parseOptions, readNumber, UsageError } from '../../bench/options.ts'
import { corpus } from './corpus/corpus.ts'
import { decodeCase, type Case } from './draft.ts'
import type { RunOptions } from './run.ts'

export interface FuzzOptions extends RunOptions {
  readonly help: boolean
}

export const HELP = `Usage: npm run fuzz -- [options]

Sends bad input to a service of its own: the corpus of hand-picked cases in verify/fuzz/corpus,
then requests made by chance from openapi.yaml, each with a defect for a certainty, and last
some of which nobody knows whether they are good. Nothing may be answered 5xx or otherwise
than openapi.yaml says, nothing may reach the provider, land in a table or be logged.
Needs nothing: it starts its own PostgreSQL, mock provider, worker and API.

--requests <n>  How many are made by chance: 100000 by default, some minutes.
--seed <n>      Draws the same again: another one each time by default.
--case <line>   Sends one request alone: the line, or the name, that has reported it.
-h, --help      Prints this.

Ctrl-C stops and removes everything.
Exit code: 0 all passed, 1 some failed, 2 wrong options, 3 the suite itself failed,
130 interrupted.
`

const REQUESTS = { usual: 100_000, min: 0, max: 100_000_000 }
/** Each batch has a seed of its own, counted from there, and fast-check's have 32 bits. */
const SEED_MAX = 2 ** 31 - 1_000_000

/**
 * @param chance a number from 0 up to 1, for a seed that nobody has asked for.
 * @throws UsageError when an option is unknown or out of its bounds, or names no case.
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
    throw new UsageError('--case must be the line, or the name of a case of the corpus')
  }
}
