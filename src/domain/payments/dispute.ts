// Defines disputes, and renders them for the API. A dispute is what the provider says it is: its
// statuses are Stripe's, and any of them may follow any other.
import { parseId, showId } from '../resource-id.ts'
import { showPaymentId } from './payment.ts'

/**
 * Stripe's statuses. A `warning_` status is an inquiry, which moves no money.
 *
 * @see https://docs.stripe.com/api/disputes/object
 */
export const disputeStatuses = [
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
  'won',
  'lost',
  'prevented',
] as const
export type DisputeStatus = (typeof disputeStatuses)[number]

/** The statuses that need no more attention. A lost dispute can still turn won. */
export const closedDisputeStatuses: readonly DisputeStatus[] = [
  'warning_closed',
  'won',
  'lost',
  'prevented',
]

/** While a dispute of a payment has one of these, the provider refunds nothing of the payment. */
export const refundRefusingStatuses: readonly DisputeStatus[] = [
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
]

/** Where a dispute stands at the provider. Amounts are in minor units. */
export interface DisputeStanding {
  readonly amountMinor: number
  readonly currency: string
  /** The provider's word. */
  readonly reason: string
  readonly status: DisputeStatus
  readonly evidenceDueAt: Date | null
  /** What the balance has lost, and what has come back, so far. Neither ever becomes less. */
  readonly withdrawnMinor: number
  readonly reinstatedMinor: number
  /** The provider's fees, less those that came back, in the currency of the balance. */
  readonly feeMinor: number
  readonly feeCurrency: string | null
}

export interface Dispute extends DisputeStanding {
  readonly tenantId: string
  readonly id: string
  readonly paymentId: string
  readonly providerDisputeId: string
  /** When the provider opened it. */
  readonly openedAt: Date
  readonly createdAt: Date
}

export const showDisputeId = (id: string): string => showId('dp', id)
export const parseDisputeId = (text: string): string | undefined => parseId('dp', text)

/** The API path of a dispute. */
export function disputePath(id: string): string {
  return `/v1/disputes/${showDisputeId(id)}`
}

/** Renders the dispute for the API; amounts in minor units, times in ISO 8601. */
export function presentDispute(dispute: Dispute): Record<string, unknown> {
  return {
    id: showDisputeId(dispute.id),
    object: 'dispute',
    payment: showPaymentId(dispute.paymentId),
    amount: dispute.amountMinor,
    amount_withdrawn: dispute.withdrawnMinor,
    amount_reinstated: dispute.reinstatedMinor,
    currency: dispute.currency,
    fee: dispute.feeMinor,
    fee_currency: dispute.feeCurrency,
    reason: dispute.reason,
    status: dispute.status,
    evidence_due_at: dispute.evidenceDueAt?.toISOString() ?? null,
    provider: { dispute_id: dispute.providerDisputeId },
    opened_at: dispute.openedAt.toISOString(),
    created_at: dispute.createdAt.toISOString(),
  }
}
