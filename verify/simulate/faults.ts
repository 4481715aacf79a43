// Draws the faults of a run from the seed and plants them at the Stripe stand-in, by its control API, while
// the traffic runs. All faults are removed before the simulation waits for pending operations.
import { setTimeout as wait } from 'node:timers/promises'
import { RARE_METHOD } from './plans.ts'
import type { Random } from './random.ts'

/** An entry of the provider's log. Amounts are in minor units. */
export interface Executed {
  readonly seq: number
  readonly kind: string
  /** Id of the provider's payment or refund. */
  readonly id: string
  readonly amount: number
  readonly currency: string
  readonly metadata: Readonly<Record<string, string>>
  /** The provider, if it is not the first one. */
  readonly provider?: string
}

interface FaultRule {
  readonly match: {
    readonly method?: 'GET' | 'POST'
    readonly path?: string
    readonly payment_method?: string
  }
  readonly fault: string
  readonly times: number
  readonly delay_ms?: number
}

export interface PlantedRule extends FaultRule {
  /** Number of requests that the fault has hit. */
  readonly struck: number
}

export type Provider = ReturnType<typeof providerAt>

const TRIES = 20
const PAUSE_MS = 150
const TIME_LIMIT_MS = 30_000

export function providerAt(url: string) {
  /** Calls a path below `/_control/` and returns the body of the answer. */
  const control = async (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<unknown> => {
    const answer = await reach(url, () =>
      fetch(`${url}/_control/${path}`, {
        method,
        signal: AbortSignal.timeout(TIME_LIMIT_MS),
        headers: { 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    if (!answer.ok) throw new Error(`${url}/_control/${path} answered ${answer.status}`)
    return await answer.json()
  }
  const list = async <Entry>(path: string) =>
    ((await control('GET', path)) as { data: Entry[] }).data
  return {
    control,
    listExecuted: () => list<Executed>('executed'),
    listFaults: () => list<PlantedRule>('faults'),
    plantFault: async (rule: FaultRule) => void (await control('POST', 'faults', rule)),
    removeFaults: async () => void (await control('DELETE', 'faults')),
  }
}

/** Retries requests that fail. @throws Error if the stand-in stays unreachable. */
async function reach(url: string, send: () => Promise<Response>): Promise<Response> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send()
    } catch (cause) {
      if (tries === TRIES)
        throw new Error(`the Stripe stand-in at ${url} is unreachable`, { cause })
      await wait(PAUSE_MS)
    }
  }
}

/** Number of payments between two faults. */
const PAYMENTS_PER_FAULT = 8

/** One fault in this many hits one payment until the service abandons its call. */
const PERSISTENT_EVERY = 6
/** With short limits that is after four tries, and the fault may hit several payments. */
const PERSISTENT_TIMES = 10

const MATCHES: readonly FaultRule['match'][] = [
  { method: 'POST', path: '/v1/payment_intents' },
  { method: 'POST', path: '/v1/payment_intents' },
  { method: 'POST', path: '/v1/payment_intents/*/capture' },
  { method: 'POST', path: '/v1/payment_intents/*/cancel' },
  { method: 'POST', path: '/v1/refunds' },
  { path: '/v1/*' },
]

/** A refund that did not happen and whose failure is kept would wait for an operator. */
const MATCHES_OF_PAYMENTS = MATCHES.filter(({ path }) => path?.includes('payment_intents') === true)

/**
 * `maxTimes`: how many requests in a row a fault hits at most. Each hang costs a whole time limit.
 */
const KINDS: readonly {
  readonly fault: string
  readonly maxTimes: number
  readonly ms?: number
}[] = [
  { fault: 'reset_before', maxTimes: 4 },
  { fault: 'reset_after', maxTimes: 4 },
  { fault: 'reset_late', maxTimes: 1, ms: 900 },
  { fault: 'hang_late', maxTimes: 1, ms: 900 },
  { fault: 'error_500_late', maxTimes: 1, ms: 900 },
  { fault: 'error_500_final', maxTimes: 6 },
  { fault: 'error_500_before', maxTimes: 6 },
  { fault: 'error_500_after', maxTimes: 6 },
  { fault: 'error_500_early', maxTimes: 6 },
  { fault: 'unavailable', maxTimes: 6 },
  { fault: 'rate_limited', maxTimes: 8 },
  { fault: 'lock_timeout', maxTimes: 8 },
  { fault: 'conflict', maxTimes: 3 },
  { fault: 'truncated_body', maxTimes: 3 },
  { fault: 'nonsense_body', maxTimes: 3 },
  { fault: 'wrong_amount', maxTimes: 2 },
  { fault: 'delay', maxTimes: 3, ms: 700 },
  { fault: 'slow_drip', maxTimes: 2, ms: 500 },
  { fault: 'refuse', maxTimes: 1, ms: 250 },
  { fault: 'hang_before', maxTimes: 1 },
  { fault: 'hang_after', maxTimes: 1 },
]

export function planFaults(random: Random, payments: number): FaultRule[] {
  const count = Math.max(1, Math.floor(payments / PAYMENTS_PER_FAULT))
  return Array.from({ length: count }, (_, index) =>
    (index + 1) % PERSISTENT_EVERY === 0 ? makePersistentFault(random) : makeFault(random),
  )
}

function makeFault(random: Random): FaultRule {
  const { fault, maxTimes: most, ms } = random.pick(KINDS)
  const matches = fault === 'error_500_before' ? MATCHES_OF_PAYMENTS : MATCHES
  const rule = { match: random.pick(matches), fault, times: 1 + random.below(most) }
  return ms === undefined ? rule : { ...rule, delay_ms: ms }
}

/** Every try ends with an unknown outcome, so that the outcome resolver has to look it up. */
function makePersistentFault(random: Random): FaultRule {
  const fault = random.pick(['reset_before', 'reset_after', 'error_500_before', 'error_500_after'])
  return { match: { payment_method: RARE_METHOD }, fault, times: PERSISTENT_TIMES }
}

export function scheduleFaults(provider: Provider, rules: readonly FaultRule[]) {
  const left = [...rules]
  let isEnded = false
  return {
    /** Plants the faults that are due once this many payments have started. */
    async plantDue(payments: number): Promise<void> {
      const undue = rules.length - Math.ceil(payments / PAYMENTS_PER_FAULT)
      while (left.length > Math.max(0, undue)) {
        const rule = left.shift()
        if (isEnded || rule === undefined) return
        await provider.plantFault(rule)
      }
    },
    /** Removes all faults. Returns them with the number of requests that each has hit. */
    async removeAll(): Promise<readonly PlantedRule[]> {
      isEnded = true
      if (left.length === rules.length) return []
      const planted = await provider.listFaults()
      await provider.removeFaults()
      return planted
    },
  }
}
