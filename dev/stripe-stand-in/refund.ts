// A refund as Stripe's API shows it (https://docs.stripe.com/api/refunds/object). It succeeds at
// once: cards are the only payment methods here.
import { newId } from './ids.ts'
import type { PaymentIntent } from './payment-intent.ts'

export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const

export interface Refund {
  id: string
  object: 'refund'
  amount: number
  currency: string
  payment_intent: string
  charge: string | null
  reason: string | null
  metadata: Record<string, string>
  status: 'succeeded'
  created: number
  /** The movement that it made on the balance. */
  balance_transaction: string | null
  destination_details: object
  receipt_number: null
  source_transfer_reversal: null
  transfer_reversal: null
}

/** A new refund of the intent's latest charge. Whether so much is left is the caller's to know. */
export function newRefund(
  intent: PaymentIntent,
  terms: Pick<Refund, 'amount' | 'reason' | 'metadata' | 'created'>,
): Refund {
  return {
    id: newId('re'),
    object: 'refund',
    ...terms,
    currency: intent.currency,
    payment_intent: intent.id,
    charge: intent.latest_charge,
    status: 'succeeded',
    balance_transaction: null,
    destination_details: { type: 'card', card: { type: 'refund' } },
    receipt_number: null,
    source_transfer_reversal: null,
    transfer_reversal: null,
  }
}
