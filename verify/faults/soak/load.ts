// The steady load of a soak: the simulation's traffic, with a fixed number of new payments per
// second, each carried on to its last refund. Slow payments do not delay new ones.
import { setTimeout as delay } from 'node:timers/promises'
import { startFigures } from '../../simulate/figures.ts'
import { makePlans } from '../../simulate/plans.ts'
import { seededRandom } from '../../simulate/random.ts'
import { createSender } from '../../simulate/sender.ts'
import { runTraffic } from '../../simulate/traffic.ts'
import type { Lane } from '../lane.ts'
import type { Merchant } from '../merchant.ts'

/** What the suite and a lane can handle on two cores, while processes start for those killed. */
const PAYMENTS_A_SECOND = 4
/** More than are in progress in any outage that the service has to survive. */
const CLIENTS = 64

export interface LoadOptions {
  readonly lane: Lane
  readonly merchant: Merchant
  readonly seed: number
  readonly seconds: number
  readonly signal: AbortSignal
}

export class Load {
  readonly ended: Promise<void>
  readonly #figures = startFigures()

  constructor({ lane, merchant, seed, seconds, signal }: LoadOptions) {
    const plans = makePlans(seededRandom(seed), Math.ceil(seconds * PAYMENTS_A_SECOND))
    const sender = createSender({
      baseUrl: lane.apiUrl,
      apiKey: merchant.tenant.apiKey,
      figures: this.#figures,
      dropPercent: () => 0,
      random: seededRandom(seed ^ 1),
      heard: merchant.recordIds,
    })
    const beganAt = performance.now()
    const begun = async (number: number) => {
      const dueAt = beganAt + (number * 1_000) / PAYMENTS_A_SECOND
      const earlyMs = Math.max(0, dueAt - performance.now())
      await delay(earlyMs, undefined, { signal }).catch(() => {})
    }
    const { history } = merchant
    const progressed = () => {}
    this.ended = runTraffic({
      plans,
      concurrency: CLIENTS,
      sender,
      history,
      signal,
      begun,
      progressed,
    })
    // Awaited at the end of the soak.
    this.ended.catch(() => {})
  }

  /** The latencies of the calls answered since the last call, in milliseconds. */
  takeTimes(): number[] {
    return [...this.#figures.latencies.values()].flatMap((times) => times.splice(0))
  }
}
