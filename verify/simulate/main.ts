// `npm run simulate`: sends a shop's traffic to a stack, then compares the API's records with the
// provider's log. The exit code tells whether an invariant is broken.
import { runCommand, type Working } from '../../bench/command.ts'
import { HELP, readArguments, type SimulationOptions } from './arguments.ts'
import type { PlantedRule, Provider } from './faults.ts'
import { planFaults, providerAt, scheduleFaults } from './faults.ts'
import { createSender, type Sender, startFigures } from './sender.ts'
import { type History, startHistory } from './history.ts'
import { checkInvariants } from './invariants.ts'
import { makePlans } from './plans.ts'
import { seededRandom } from './random.ts'
import { markLedger, readRecords } from './records.ts'
import { showReport } from './report.ts'
import { type Stack, startStack } from './stack.ts'
import { awaitFinalAnswers, findPending, runTraffic } from './traffic.ts'

type Simulation = Working<SimulationOptions, Stack>

/** Percentage of tries that clients drop in a run with faults. */
const DROPPED = 6
/** How long to wait at the end for final answers. */
const SETTLE_SECONDS = 180
const SETTLE_MIN_SECONDS = 10
const BROKEN = 1

await runCommand<SimulationOptions, Stack>({
  name: 'simulate',
  help: HELP,
  read: readArguments,
  make: async ({ target }, progress) => {
    if (target !== undefined) return { ...target, remove: () => Promise.resolve() }
    progress.say('Starting a stack')
    return await startStack()
  },
  work: simulate,
})

/** Prints the report. Returns the exit code. */
async function simulate(simulation: Simulation): Promise<number> {
  const { place: target, options, progress, signal } = simulation
  const { payments, seed, concurrency } = options
  progress.say(
    `Sending ${payments} payments to ${target.url}, seed ${seed}; Ctrl-C stops and reports`,
  )
  const provider = providerAt(target.providerUrl)
  const figures = startFigures()
  const drops = { percent: options.faults ? DROPPED : 0 }
  const sender = createSender({
    baseUrl: target.url,
    apiKey: target.apiKey,
    figures,
    dropPercent: () => drops.percent,
    random: seededRandom(seed ^ 1),
  })
  const mark = await markLedger(sender.client)
  const history = startHistory('sim')
  const faults = await sendAll(simulation, provider, sender, history)
  drops.percent = 0
  const pending = findPending(history).length
  const progressed = pending === 0 ? () => {} : progress.begin('Waiting', pending)
  // One who has stopped it does not wait long for the report.
  const limit = signal.aborted
    ? { seconds: SETTLE_MIN_SECONDS }
    : { seconds: SETTLE_SECONDS, signal }
  await awaitFinalAnswers({ sender, history, concurrency, progressed, ...limit })
  const records = await readRecords(sender.client, provider, history, mark)
  const verdicts = checkInvariants(history, records)
  progress.end()
  process.stdout.write(showReport({ options, pending, history, figures, faults, verdicts }))
  return verdicts.some(({ broken }) => broken.length > 0) ? BROKEN : 0
}

/** Sends all payments. Returns the faults that it planted and has removed again. */
async function sendAll(
  { options, signal, progress }: Simulation,
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
      signal: AbortSignal.any([signal, failed.signal]),
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
