// Runs one simulation: sends the traffic with its faults, waits for pending operations, and
// compares the records.
import type { Progress } from '../../bench/progress.ts'
import { timed } from '../../bench/spread.ts'
import type { SimulationOptions } from './arguments.ts'
import { planFaults, scheduleFaults } from './faults.ts'
import { startFigures } from './figures.ts'
import { startHistory, type History } from './history.ts'
import { checkInvariants } from './invariants.ts'
import { makePlans } from './plans.ts'
import { providerAt, type PlantedRule, type Provider } from './provider.ts'
import { seededRandom } from './random.ts'
import { markLedger, readRecords } from './records.ts'
import type { Report } from './report.ts'
import { createSender, type Sender } from './sender.ts'
import { awaitFinalAnswers, findPending } from './await-final-answers.ts'
import type { Target } from './target.ts'
import { runTraffic } from './traffic.ts'

export interface Simulation {
  readonly target: Target
  readonly options: SimulationOptions
  readonly progress: Progress
  /** `sending` stops the traffic, `waiting` stops the wait for final answers. */
  readonly stops: { readonly sending: AbortController; readonly waiting: AbortController }
}

/** Percentage of tries that clients drop in a run with faults. */
const DROPPED = 6

export async function simulate(simulation: Simulation): Promise<Report> {
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
