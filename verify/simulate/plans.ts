// What every payment of a run is to go through, drawn from the seed before the first is sent: a shop's
// traffic, with the mistakes that its clients make.
import type { Random } from './random.ts'

/** `wait`: until the result is there. `respond_async`: not at all, it is polled. */
export type Patience = 'usual' | 'wait' | 'respond_async'

/** Whether the same request is sent again: beside the first one, or after its answer. */
export type Resending = 'never' | 'at_once' | 'later'

interface SendingStyle {
  readonly patience: Patience
  readonly resending: Resending
}

export type Step = SendingStyle &
  (
    | { readonly action: 'capture'; readonly amount: number }
    | { readonly action: 'cancel' }
    | { readonly action: 'refund'; readonly amount: number }
  )

export interface Plan extends SendingStyle {
  /** From 1. */
  readonly number: number
  readonly amount: number
  readonly currency: string
  readonly paymentMethod: string
  readonly captureMethod: 'automatic' | 'manual'
  /** What follows when it was paid, or is held. */
  readonly steps: readonly Step[]
  /** Whether its key is sent with another body, which has to be refused. */
  readonly reusesKey: boolean
  /** Whether the client first sends what no payment can be, under a key of its own. */
  readonly sendsInvalidFirst: boolean
  /** Whether the client asks, at the end, for more money back than there is. */
  readonly refundsTooMuch: boolean
}

/** A method that faults can be aimed at: few payments use it. */
export const RARE_METHOD = 'pm_card_discover'

const APPROVED = ['pm_card_visa', 'pm_card_visa', 'pm_card_mastercard', 'pm_card_amex']
const DECLINED = [
  'pm_card_chargeDeclined',
  'pm_card_chargeDeclinedInsufficientFunds',
  'pm_card_chargeDeclinedExpiredCard',
  'pm_card_chargeDeclinedIncorrectCvc',
]
const CURRENCIES = ['usd', 'usd', 'usd', 'eur', 'gbp']
const PATIENCES = ['usual', 'usual', 'usual', 'wait', 'respond_async'] as const

/** Of a hundred payments. */
const SHARES = {
  declined: 10,
  rareMethod: 3,
  manual: 30,
  keptAuthorized: 15,
  canceled: 30,
  capturedPartly: 40,
  refunded: 30,
  refundedInFull: 40,
  resent: 20,
  keyReused: 6,
  invalidFirst: 4,
  refundedTooMuch: 30,
}

const AMOUNT_MIN = 100
const AMOUNT_MAX = 50_000

export function makePlans(random: Random, count: number): Plan[] {
  return Array.from({ length: count }, (_, index) => makePlan(random, index + 1))
}

function makePlan(random: Random, number: number): Plan {
  const amount = AMOUNT_MIN + random.below(AMOUNT_MAX - AMOUNT_MIN)
  const isDeclined = random.percent(SHARES.declined)
  const isManual = random.percent(SHARES.manual)
  const money = isManual ? planAuthorized(random, amount) : { steps: [], captured: amount }
  const refunds = random.percent(SHARES.refunded) ? refund(random, money.captured) : []
  return {
    number,
    amount,
    currency: random.pick(CURRENCIES),
    paymentMethod: pickMethod(random, isDeclined),
    captureMethod: isManual ? 'manual' : 'automatic',
    ...pickStyle(random),
    steps: [...money.steps, ...refunds],
    reusesKey: random.percent(SHARES.keyReused),
    sendsInvalidFirst: random.percent(SHARES.invalidFirst),
    refundsTooMuch: refunds.length > 0 && random.percent(SHARES.refundedTooMuch),
  }
}

function pickMethod(random: Random, isDeclined: boolean): string {
  if (isDeclined) return random.pick(DECLINED)
  return random.percent(SHARES.rareMethod) ? RARE_METHOD : random.pick(APPROVED)
}

function pickStyle(random: Random): SendingStyle {
  const resending = random.percent(SHARES.resent)
    ? random.pick(['at_once', 'later'] as const)
    : 'never'
  return { patience: random.pick(PATIENCES), resending }
}

/** What becomes of money that is held: it is taken, in part or whole, given up, or left as it is. */
function planAuthorized(random: Random, amount: number): { steps: Step[]; captured: number } {
  if (random.percent(SHARES.keptAuthorized)) return { steps: [], captured: 0 }
  const style = pickStyle(random)
  if (random.percent(SHARES.canceled)) {
    return { steps: [{ action: 'cancel', ...style }], captured: 0 }
  }
  const isPartial = random.percent(SHARES.capturedPartly)
  const captured = isPartial ? 1 + random.below(amount) : amount
  return { steps: [{ action: 'capture', amount: captured, ...style }], captured }
}

/** All at once, or a part, or two parts. */
function refund(random: Random, captured: number): Step[] {
  if (captured === 0) return []
  if (captured === 1 || random.percent(SHARES.refundedInFull)) {
    return [{ action: 'refund', amount: captured, ...pickStyle(random) }]
  }
  const first = 1 + random.below(captured - 1)
  const parts = random.percent(50) ? [first] : [first, captured - first]
  return parts.map((amount) => ({ action: 'refund', amount, ...pickStyle(random) }))
}
