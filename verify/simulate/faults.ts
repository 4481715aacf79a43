// The faults of a run: drawn from the seed, planted at the mock provider as the traffic goes on, and all
// taken away before what is left unsettled is waited for.
import type { FaultRule, PlantedRule, Provider } from './provider.ts'
import { RARE_METHOD } from './plans.ts'
import type { Random } from './random.ts'

/** So many payments lie between two faults. */
const PAYMENTS_EACH = 8

/** One in so many strikes one payment until the service gives up on its call. */
const INSISTENT_EACH = 6
/** With short limits the service gives up after four calls, and more than one payment may be struck. */
const INSISTENT_TIMES = 10

const PLACES: readonly FaultRule['match'][] = [
  { method: 'POST', path: '/v1/payment_intents' },
  { method: 'POST', path: '/v1/payment_intents' },
  { method: 'POST', path: '/v1/payment_intents/*/capture' },
  { method: 'POST', path: '/v1/payment_intents/*/cancel' },
  { method: 'POST', path: '/v1/refunds' },
  { path: '/v1/*' },
]

/** With how many requests in a row each strikes at most: one that hangs costs a whole time limit. */
const KINDS: readonly { readonly fault: string; readonly most: number; readonly ms?: number }[] = [
  { fault: 'reset_before', most: 4 },
  { fault: 'reset_after', most: 4 },
  { fault: 'error_500_before', most: 6 },
  { fault: 'error_500_after', most: 6 },
  { fault: 'rate_limited', most: 8 },
  { fault: 'conflict', most: 3 },
  { fault: 'truncated_body', most: 3 },
  { fault: 'nonsense_body', most: 3 },
  { fault: 'wrong_amount', most: 2 },
  { fault: 'delay', most: 3, ms: 700 },
  { fault: 'slow_drip', most: 2, ms: 500 },
  { fault: 'refuse', most: 1, ms: 250 },
  { fault: 'hang_before', most: 1 },
  { fault: 'hang_after', most: 1 },
]

export function planFaults(random: Random, payments: number): FaultRule[] {
  const count = Math.max(1, Math.floor(payments / PAYMENTS_EACH))
  return Array.from({ length: count }, (_, index) =>
    (index + 1) % INSISTENT_EACH === 0 ? insist(random) : strike(random),
  )
}

function strike(random: Random): FaultRule {
  const { fault, most, ms } = random.pick(KINDS)
  const rule = { match: random.pick(PLACES), fault, times: 1 + random.below(most) }
  return ms === undefined ? rule : { ...rule, delay_ms: ms }
}

/** Not known whether it ran, as often as it is asked: what a lookup later has to find out. */
function insist(random: Random): FaultRule {
  const fault = random.pick(['reset_before', 'reset_after', 'error_500_before', 'error_500_after'])
  return { match: { payment_method: RARE_METHOD }, fault, times: INSISTENT_TIMES }
}

export interface FaultPlanting {
  /** Plants what is due when so many payments have begun. */
  begun(payments: number): Promise<void>
  /** Takes all away, and says what they have struck. */
  end(): Promise<PlantedRule[]>
}

export function plantFaults(provider: Provider, rules: readonly FaultRule[]): FaultPlanting {
  let planted = 0
  let isOver = false
  return {
    async begun(payments) {
      const due = Math.min(rules.length, Math.ceil(payments / PAYMENTS_EACH))
      while (planted < due) {
        const rule = rules[planted]
        if (isOver || rule === undefined) return
        planted += 1
        await provider.plantFault(rule)
      }
    },
    async end() {
      isOver = true
      if (planted === 0) return []
      const struck = await provider.listFaults()
      await provider.removeFaults()
      return struck
    },
  }
}
