// Defines a refund and its later changes (https://docs.stripe.com/api/refunds/object). These
// functions are pure: the callers store the result.
import type Stripe from 'stripe'
import { newId } from '../ids.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import type { RefundStatus } from './refund-status.ts'

export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const

export interface Refund extends Stripe.Refund {
  payment_intent: string
  charge: string | null
  metadata: Record<string, string>
  status: RefundStatus
  /** The id of its movement on the balance. */
  balance_transaction: string | null
}

/** Creates a refund of the intent's latest charge. The caller checks the amount. */
export function newRefund(
  intent: PaymentIntent,
  terms: Pick<Refund, 'amount' | 'reason' | 'metadata' | 'created'>,
  status: RefundStatus = 'succeeded',
): Refund {
  return {
    id: newId('re'),
    object: 'refund',
    ...terms,
    currency: intent.currency,
    payment_intent: intent.id,
    charge: intent.latest_charge,
    customer: intent.customer,
    customer_account: null,
    payment_method: intent.payment_method,
    status,
    balance_transaction: null,
    destination_details: { type: 'card', card: { type: 'refund' } },
    receipt_number: null,
    source_transfer_reversal: null,
    transfer_reversal: null,
  } satisfies Stripe.Refund
}
