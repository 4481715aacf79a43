// Defines the events of payments, refunds and disputes, and renders them. The API and the webhooks send the
// same rendering.
import { presentPayment, type Payment } from '../payments/payment.ts'
import { paymentStatuses } from '../payments/payment-status.ts'
import { presentRefund, refundStatuses, type Refund } from '../payments/refund.ts'
import { presentDispute, type Dispute } from '../payments/dispute.ts'
import { parseId, showId } from '../resource-id.ts'

/** Sent once before a hold ends: the client can still capture the payment. */
export const AUTHORIZATION_EXPIRING = 'payment.authorization_expiring'

/** The event of a payment that its bank suspects to be fraud. The status stays as it is. */
export const EARLY_FRAUD_WARNING = 'payment.early_fraud_warning'

/**
 * Every event type: one per status of a payment or refund, and one for its creation; the two above;
 * and those of disputes.
 */
export const eventTypes: readonly string[] = [
  ...typesOf('payment', paymentStatuses),
  AUTHORIZATION_EXPIRING,
  EARLY_FRAUD_WARNING,
  ...typesOf('refund', refundStatuses),
  'dispute.created',
  'dispute.updated',
  'dispute.funds_withdrawn',
  'dispute.funds_reinstated',
  'dispute.closed',
]

function typesOf(resource: 'payment' | 'refund', statuses: readonly string[]): string[] {
  return ['created', ...statuses].map((change) => `${resource}.${change}`)
}

export interface Event {
  readonly tenantId: string
  readonly id: string
  readonly type: string
  /** The payment, the refund or the dispute as it was when the event happened. */
  readonly subject:
    | { readonly kind: 'payment'; readonly payment: Payment }
    | { readonly kind: 'refund'; readonly refund: Refund }
    | { readonly kind: 'dispute'; readonly dispute: Dispute }
  /** The idempotency key of the request that caused the event; null when no request did. */
  readonly idempotencyKey: string | null
  readonly createdAt: Date
}

export const showEventId = (id: string): string => showId('evt', id)
export const parseEventId = (text: string): string | undefined => parseId('evt', text)

/** Renders the event for the API and for webhooks; times in ISO 8601. */
export function presentEvent(event: Event): Record<string, unknown> {
  const { subject } = event
  return {
    id: showEventId(event.id),
    object: 'event',
    type: event.type,
    data: { object: presentSubject(subject) },
    request: { idempotency_key: event.idempotencyKey },
    created_at: event.createdAt.toISOString(),
  }
}

function presentSubject(subject: Event['subject']): Record<string, unknown> {
  switch (subject.kind) {
    case 'payment':
      return presentPayment(subject.payment)
    case 'refund':
      return presentRefund(subject.refund)
    case 'dispute':
      return presentDispute(subject.dispute)
  }
}
