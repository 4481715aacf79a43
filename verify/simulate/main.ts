// `npm run simulate`: sends a shop's traffic to a running stack, then compares the API's records
// with the provider's log. The exit code tells whether an invariant is broken.
import { UsageError } from '../../bench/options.ts'
import { progressOn } from '../../bench/progress.ts'
import { NoAnswerError } from '../../client/errors.ts'
import { ConfigError } from '../../src/config-error.ts'
import { configVariables, readConfig } from '../../src/config.ts'
import { HELP, readArguments, type SimulationOptions } from './arguments.ts'
import { showReport } from './report.ts'
import { simulate } from './simulate.ts'
import { startThrowawayStack } from './stack.ts'
import { checkTarget, findTarget, TargetError, type Target } from './target.ts'

const BROKEN = 1
const WRONG_OPTIONS = 2
const NOT_SIMULATED = 3
const INTERRUPTED = 130

/**
 * npm forwards the SIGINT of a Ctrl-C that this process also gets: two at once are one keystroke.
 */
const SAME_KEYSTROKE_MS = 1_000

const progress = progressOn(process.stderr)
const stops = listenForStops()

try {
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  progress.end()
  process.stderr.write(`simulate: ${reasonOf(error)}\n`)
  process.exitCode = exitCodeOf(error)
}

async function run(args: readonly string[]): Promise<number> {
  const options = readArguments(args)
  if (options.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (options.stack) return await runOnOwnStack(options)
  const target = await findTarget(options, process.env, readConfig())
  return await runOn(target, options)
}

async function runOnOwnStack(options: SimulationOptions): Promise<number> {
  // The caller's settings must not reach the stack.
  for (const name of configVariables) delete process.env[name]
  progress.say('Starting a stack')
  const stack = await startThrowawayStack(stops.sending.signal)
  try {
    return await runOn(stack, options)
  } finally {
    progress.end()
    progress.say('Removing the stack')
    await stack.remove()
  }
}

async function runOn(target: Target, options: SimulationOptions): Promise<number> {
  await checkTarget(target)
  const { payments, seed } = options
  progress.say(
    `Sending ${payments} payments to ${target.url}, seed ${seed}; Ctrl-C stops and reports`,
  )
  const report = await simulate({ target, options, progress, stops })
  progress.end()
  process.stdout.write(`\n${showReport(report)}`)
  if (report.verdicts.some(({ broken }) => broken.length > 0)) return BROKEN
  return stops.sending.signal.aborted ? INTERRUPTED : 0
}

/** The first Ctrl-C stops the sending, a later one also stops the waiting. */
function listenForStops() {
  const sending = new AbortController()
  const waiting = new AbortController()
  let firstAt: number | undefined
  const stop = () => {
    firstAt ??= performance.now()
    sending.abort(new Error('interrupted'))
    if (performance.now() - firstAt >= SAME_KEYSTROKE_MS) waiting.abort(new Error('interrupted'))
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return { sending, waiting }
}

function reasonOf(error: unknown): string {
  const isPlain = [UsageError, TargetError, ConfigError].some((kind) => error instanceof kind)
  if (error instanceof NoAnswerError) return `the API no longer answers: ${error.message}`
  if (isPlain || stops.sending.signal.aborted) return (error as Error).message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof ConfigError) return WRONG_OPTIONS
  return stops.sending.signal.aborted ? INTERRUPTED : NOT_SIMULATED
}
