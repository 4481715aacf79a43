// Creates refunds (https://docs.stripe.com/api/refunds/object). A refund succeeds at once, because
// the stand-in has only cards.
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
  /** The id of its movement on the balance. */
  balance_transaction: string | null
  destination_details: object
  receipt_number: null
  source_transfer_reversal: null
  transfer_reversal: null
}

/** Creates a refund of the intent's latest charge. The caller checks the amount. */
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
