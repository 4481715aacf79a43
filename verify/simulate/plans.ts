// Draws the plan of each payment from the seed, before the first request: a shop's traffic, with
// typical client mistakes.
import type { Random } from './random.ts'

/** `wait`: wait for the result. `respond_async`: return at once and poll. */
export type Patience = 'usual' | 'wait' | 'respond_async'

/** Whether the request is sent twice: concurrently, or again after the answer. */
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
  /** The steps after the payment succeeded or is held. */
  readonly steps: readonly Step[]
  /** Whether the client reuses the key with another body, which must be refused. */
  readonly reusesKey: boolean
  /** Whether the client first sends an invalid payment with a separate key. */
  readonly sendsInvalidFirst: boolean
  /** Whether the client finally asks for a refund beyond the capture. */
  readonly refundsTooMuch: boolean
}

/** Persistent faults match this payment method, because few payments use it. */
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

/** In percent of all payments. */
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
  const pickApproved = () =>
    random.percent(SHARES.rareMethod) ? RARE_METHOD : random.pick(APPROVED)
  return {
    number,
    amount,
    currency: random.pick(CURRENCIES),
    paymentMethod: isDeclined ? random.pick(DECLINED) : pickApproved(),
    captureMethod: isManual ? 'manual' : 'automatic',
    ...pickStyle(random),
    steps: [...money.steps, ...refunds],
    reusesKey: random.percent(SHARES.keyReused),
    sendsInvalidFirst: random.percent(SHARES.invalidFirst),
    refundsTooMuch: refunds.length > 0 && random.percent(SHARES.refundedTooMuch),
  }
}

function pickStyle(random: Random): SendingStyle {
  const resending = random.percent(SHARES.resent)
    ? random.pick(['at_once', 'later'] as const)
    : 'never'
  return { patience: random.pick(PATIENCES), resending }
}

/** Plans how an authorization ends: captured in full or in part, canceled, or left open. */
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

/** Plans a full refund, a partial refund, or two partial refunds. */
function refund(random: Random, captured: number): Step[] {
  if (captured === 0) return []
  if (captured === 1 || random.percent(SHARES.refundedInFull)) {
    return [{ action: 'refund', amount: captured, ...pickStyle(random) }]
  }
  const first = 1 + random.below(captured - 1)
  const parts = random.percent(50) ? [first] : [first, captured - first]
  return parts.map((amount) => ({ action: 'refund', amount, ...pickStyle(random) }))
}
