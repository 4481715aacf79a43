// Defines a dispute and its steps (https://docs.stripe.com/disputes/how-disputes-work), and the warning
// that may precede it. These functions are pure: the callers store the result.
import type Stripe from 'stripe'
import type { BalanceTransaction } from '../balance/balance-transaction.ts'
import { newId } from '../ids.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'

export interface Dispute extends Stripe.Dispute {
  balance_transactions: BalanceTransaction[]
  charge: string
  payment_intent: string
}

/** https://docs.stripe.com/api/radar/early_fraud_warnings/object */
export interface EarlyFraudWarning extends Stripe.Radar.EarlyFraudWarning {
  charge: string
  payment_intent: string
}

/** The statuses that may follow each status. A lost dispute rarely turns won. */
const nextStatuses: Readonly<Record<string, readonly string[]>> = {
  warning_needs_response: ['warning_under_review', 'warning_closed', 'needs_response'],
  warning_under_review: ['warning_closed', 'needs_response'],
  warning_closed: [],
  needs_response: ['under_review', 'won', 'lost'],
  under_review: ['won', 'lost'],
  lost: ['won'],
  won: [],
}

export const disputeStatuses = Object.keys(nextStatuses)

export function mayBecome(dispute: Dispute, status: string): boolean {
  return nextStatuses[dispute.status]?.includes(status) ?? false
}

/** An inquiry moves no money, and its charge can still be refunded. */
export function isInquiry(status: string): boolean {
  return status.startsWith('warning_')
}

export function isClosed(status: string): boolean {
  return ['won', 'lost', 'warning_closed'].includes(status)
}

export interface DisputeTerms {
  amount: number
  reason: string
  status: string
}

const RESPONSE_SECONDS = 9 * 24 * 60 * 60

/** A dispute has metadata of its own, not that of the intent. */
export function newDispute(
  intent: PaymentIntent,
  { amount, reason, status }: DisputeTerms,
  created: number,
): Dispute {
  return {
    id: newId('du'),
    object: 'dispute',
    amount,
    balance_transactions: [],
    charge: String(intent.latest_charge),
    created,
    currency: intent.currency,
    enhanced_eligibility_types: [],
    evidence: noEvidence,
    evidence_details: {
      due_by: created + RESPONSE_SECONDS,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: null,
    is_charge_refundable: isInquiry(status),
    livemode: false,
    metadata: {},
    payment_intent: intent.id,
    payment_method_details: {
      type: 'card',
      card: {
        brand: 'visa',
        network: 'visa',
        case_type: isInquiry(status) ? 'inquiry' : 'chargeback',
        network_reason_code: '10.4',
      },
    },
    reason,
    status,
  } satisfies Stripe.Dispute
}

const noEvidence: Stripe.Dispute.Evidence = {
  access_activity_log: null,
  billing_address: null,
  cancellation_policy: null,
  cancellation_policy_disclosure: null,
  cancellation_rebuttal: null,
  customer_communication: null,
  customer_email_address: null,
  customer_name: null,
  customer_purchase_ip: null,
  customer_signature: null,
  duplicate_charge_documentation: null,
  duplicate_charge_explanation: null,
  duplicate_charge_id: null,
  enhanced_evidence: {},
  product_description: null,
  receipt: null,
  refund_policy: null,
  refund_policy_disclosure: null,
  refund_refusal_explanation: null,
  service_date: null,
  service_documentation: null,
  shipping_address: null,
  shipping_carrier: null,
  shipping_date: null,
  shipping_documentation: null,
  shipping_tracking_number: null,
  uncategorized_file: null,
  uncategorized_text: null,
}
