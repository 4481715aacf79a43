// Creates balance transactions, the movements of money on the account's balance
// (https://docs.stripe.com/api/balance_transactions/object): one for each capture, each refund and
// each failed refund.
import { newId } from './ids.ts'
import type { PaymentIntent } from './payment-intent.ts'
import type { Refund } from './refund.ts'

type MovementType = 'charge' | 'refund' | 'refund_failure'

export interface BalanceTransaction {
  id: string
  object: 'balance_transaction'
  type: MovementType
  reporting_category: MovementType
  /** In minor units, before fees. Negative when the money leaves the balance. */
  amount: number
  currency: string
  fee: number
  fee_details: object[]
  net: number
  /** The id of the charge or of the refund. */
  source: string
  status: 'available'
  created: number
  available_on: number
  balance_type: 'payments'
  description: null
  exchange_rate: null
}

type Movement = Pick<BalanceTransaction, 'type' | 'amount' | 'currency' | 'source' | 'created'>

/** Creates the movement of a capture, at the given second. */
export function movementOfCapture(intent: PaymentIntent, created: number): BalanceTransaction {
  const { amount_received: amount, currency, latest_charge } = intent
  const source = String(latest_charge)
  return newMovement({ type: 'charge', amount, currency, source, created }, feeOf(amount))
}

/** Creates the movement of a refund. Stripe does not return the fee of the charge. */
export function movementOfRefund({ id, amount, currency, created }: Refund): BalanceTransaction {
  return newMovement({ type: 'refund', amount: -amount, currency, source: id, created }, 0)
}

/** Creates the movement that returns the money of a failed refund to the balance. */
export function movementOfFailedRefund(
  { id, amount, currency }: Refund,
  created: number,
): BalanceTransaction {
  return newMovement({ type: 'refund_failure', amount, currency, source: id, created }, 0)
}

const FEE_BASIS_POINTS = 290
const FEE_FIXED = 30

/** Not zero, so that code that confuses `net` with `amount` fails a test. */
function feeOf(amount: number): number {
  return Math.round((amount * FEE_BASIS_POINTS) / 10_000) + FEE_FIXED
}

function newMovement(movement: Movement, fee: number): BalanceTransaction {
  const { type, amount, currency, created } = movement
  const detail = { amount: fee, application: null, currency, description: null, type: 'stripe_fee' }
  return {
    id: newId('txn'),
    object: 'balance_transaction',
    ...movement,
    reporting_category: type,
    fee,
    fee_details: fee === 0 ? [] : [detail],
    net: amount - fee,
    status: 'available',
    available_on: created,
    balance_type: 'payments',
    description: null,
    exchange_rate: null,
  }
}
