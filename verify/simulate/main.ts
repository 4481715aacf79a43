// `npm run simulate`: sends a shop's traffic to a running stack, then compares the API's records
// with the provider's log. The exit code tells whether an invariant is broken.
import { type Progress, progressOn } from '../../bench/progress.ts'
import { timed } from '../../bench/spread.ts'
import { UsageError } from '../../bench/options.ts'
import { NoAnswerError } from '../../client/errors.ts'
import { ConfigError } from '../../src/config-formats.ts'
import { configVariables, readConfig } from '../../src/config.ts'
import { HELP, readArguments, type SimulationOptions } from './arguments.ts'
import type { PlantedRule, Provider } from './faults.ts'
import { planFaults, providerAt, scheduleFaults } from './faults.ts'
import { createSender, type Sender, startFigures } from './sender.ts'
import { type History, startHistory } from './history.ts'
import { checkInvariants } from './invariants.ts'
import { makePlans } from './plans.ts'
import { seededRandom } from './random.ts'
import { markLedger, readRecords } from './records.ts'
import { type Report, showReport } from './report.ts'
import { awaitFinalAnswers, findPending, runTraffic } from './traffic.ts'
import { checkTarget, findTarget, type Target, TargetError } from './target.ts'
import { startThrowawayStack } from './stack.ts'

interface Simulation {
  readonly target: Target
  readonly options: SimulationOptions
  readonly progress: Progress
  /** `sending` stops the traffic, `waiting` stops the wait for final answers. */
  readonly stops: { readonly sending: AbortController; readonly waiting: AbortController }
}

/** Percentage of tries that clients drop in a run with faults. */
const DROPPED = 6

async function simulate(simulation: Simulation): Promise<Report> {
  const { target, options, stops, progress } = simulation
  const provider = providerAt(target.providerUrl)
  const figures = startFigures()
  const drops = { percent: options.faults ? DROPPED : 0 }
  const sender = createSender({
    baseUrl: target.url,
    apiKey: target.apiKey,
    figures,
    dropPercent: () => drops.percent,
    random: seededRandom(options.seed ^ 1),
  })
  const mark = await markLedger(sender.client)
  const history = startHistory('sim')
  const sending = await timed(() => sendAll(simulation, provider, sender, history))
  drops.percent = 0
  const pending = findPending(history).length
  const progressed = pending === 0 ? () => {} : progress.begin('Waiting', pending)
  const { concurrency, settleSeconds: seconds } = options
  const { signal } = stops.waiting
  const settling = await timed(() =>
    awaitFinalAnswers({ sender, history, concurrency, seconds, signal, progressed }),
  )
  const records = await readRecords(sender.client, provider, history, mark)
  return {
    options,
    trafficSeconds: sending.ms / 1_000,
    settleSeconds: settling.ms / 1_000,
    pendingAfterTraffic: pending,
    history,
    figures,
    faults: sending.result,
    verdicts: checkInvariants(history, records),
  }
}

/** Sends all payments. Returns the faults that it planted and has removed again. */
async function sendAll(
  { options, stops, progress }: Simulation,
  provider: Provider,
  sender: Sender,
  history: History,
): Promise<readonly PlantedRule[]> {
  const { payments, concurrency, seed } = options
  // A separate random sequence, so that a seed draws the same payments with and without faults.
  const rules = options.faults ? planFaults(seededRandom(seed ^ 2), payments) : []
  const faults = scheduleFaults(provider, rules)
  const failed = new AbortController()
  try {
    await runTraffic({
      plans: makePlans(seededRandom(seed), payments),
      concurrency,
      sender,
      history,
      signal: AbortSignal.any([stops.sending.signal, failed.signal]),
      begun: (count) => faults.plantDue(count),
      progressed: progress.begin('Sending', payments),
    })
  } catch (error) {
    failed.abort(error)
    // The stack must not keep faults. If the stand-in is gone, so are its faults.
    await faults.removeAll().catch(() => {})
    throw error
  }
  return await faults.removeAll()
}

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
