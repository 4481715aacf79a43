// Creates balance transactions, the movements of money on the account's balance
// (https://docs.stripe.com/api/balance_transactions/object): of captures, refunds, failed refunds and
// disputes, and of everything that a control route adds.
import type Stripe from 'stripe'
import { z } from 'zod'
import { newId } from '../ids.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import { newRefund, type Refund } from '../refunds/refund.ts'

export interface BalanceTransaction extends Stripe.BalanceTransaction {
  /** The id of the charge, the refund or the dispute. */
  source: string | null
  /** As stored. `shownAt` of read-objects.ts shows what it is by the clock. */
  status: 'pending' | 'available'
}

/** https://docs.stripe.com/reports/reporting-categories */
const categoryOfType: Readonly<Record<string, string>> = {
  charge: 'charge',
  payment: 'charge',
  refund: 'refund',
  payment_refund: 'refund',
  refund_failure: 'refund_failure',
  payment_failure_refund: 'charge_failure',
  adjustment: 'other_adjustment',
  stripe_fee: 'fee',
  stripe_fx_fee: 'fee',
  tax_fee: 'tax',
  payout: 'payout',
  payout_cancel: 'payout_reversal',
  payout_failure: 'payout_reversal',
  reserved_funds: 'risk_reserved_funds',
}

/** The money of a charge is available after two days, as for most cards in most countries. */
const SETTLES_AFTER_SECONDS = 2 * 24 * 60 * 60

/** What a control route adds. */
export const addedMovement = z.strictObject({
  type: z.string().min(1),
  reporting_category: z.string().min(1).exactOptional(),
  amount: z.int(),
  currency: z.string().regex(/^[a-z]{3}$/),
  fee: z.int().exactOptional(),
  source: z.string().min(1).nullable().exactOptional(),
  description: z.string().nullable().exactOptional(),
  exchange_rate: z.number().positive().nullable().exactOptional(),
})

type Movement = z.infer<typeof addedMovement> & { available_on?: number }

/** Creates a movement, at the given second. */
export function newMovement(movement: Movement, created: number): BalanceTransaction {
  const { type, amount, currency, fee = 0, available_on = created } = movement
  const detail = { amount: fee, application: null, currency, description: null, type: 'stripe_fee' }
  return {
    id: newId('txn'),
    object: 'balance_transaction',
    reporting_category: categoryOfType[type] ?? type,
    source: null,
    description: null,
    exchange_rate: null,
    ...movement,
    fee,
    fee_details: fee === 0 ? [] : [detail],
    net: amount - fee,
    status: available_on > created ? ('pending' as const) : ('available' as const),
    created,
    available_on,
    balance_type: 'payments',
  } satisfies Stripe.BalanceTransaction
}

/**
 * Creates the movement of a capture: of all that was authorized, also when less was captured.
 *
 * @param isAtOnce whether the money is available at once.
 */
export function movementOfCapture(
  intent: PaymentIntent,
  created: number,
  isAtOnce = false,
): BalanceTransaction {
  const { amount, currency } = intent
  const [source, available_on] = [String(intent.latest_charge), availableOn(created, isAtOnce)]
  const movement = { type: 'charge', amount, currency, source, available_on }
  return newMovement({ ...movement, fee: feeOf(amount) }, created)
}

/**
 * Creates the refund of what a partial capture released, and its movement. No client requested
 * this refund, so it has no metadata. Stripe returns the released part of the fee
 * (https://docs.stripe.com/reports/reporting-categories).
 */
export function releaseOf(
  intent: PaymentIntent,
  created: number,
  isAtOnce: boolean,
): { refund: Refund; movement: BalanceTransaction } {
  const { amount, amount_received: captured, currency } = intent
  const terms = { amount: amount - captured, reason: null, metadata: {}, created }
  const refund = newRefund(intent, terms)
  const movement = newMovement(
    {
      type: 'refund',
      reporting_category: 'partial_capture_reversal',
      amount: -refund.amount,
      currency,
      source: refund.id,
      fee: feeOf(captured) - feeOf(amount),
      available_on: availableOn(created, isAtOnce),
    },
    created,
  )
  return { refund: { ...refund, balance_transaction: movement.id }, movement }
}

function availableOn(created: number, isAtOnce: boolean): number {
  return isAtOnce ? created : created + SETTLES_AFTER_SECONDS
}

/** Creates the movement of a refund. Stripe does not return the fee of the charge. */
export function movementOfRefund({ id, amount, currency, created }: Refund): BalanceTransaction {
  return newMovement({ type: 'refund', amount: -amount, currency, source: id }, created)
}

/** Creates the movement that returns the money of a failed refund to the balance. */
export function movementOfFailedRefund(
  { id, amount, currency }: Refund,
  created: number,
): BalanceTransaction {
  return newMovement({ type: 'refund_failure', amount, currency, source: id }, created)
}

/** In minor units of every currency. Stripe's depends on the country. */
export const DISPUTE_FEE = 1_500

/** Creates the movement of a dispute: what it takes, which is below 0, or what comes back. */
export function movementOfDispute(
  { id: source, currency }: Stripe.Dispute,
  amount: number,
  fee: number,
  created: number,
): BalanceTransaction {
  const reporting_category = amount < 0 ? 'dispute' : 'dispute_reversal'
  const movement = { type: 'adjustment', reporting_category, source, currency, amount, fee }
  return newMovement(movement, created)
}

const FEE_BASIS_POINTS = 290
const FEE_FIXED = 30

/** Not zero, so that code that confuses `net` with `amount` fails a test. */
function feeOf(amount: number): number {
  return Math.round((amount * FEE_BASIS_POINTS) / 10_000) + FEE_FIXED
}
