// Defines the events of payments, refunds, disputes and webhook endpoints, and renders them. The API
// and the webhooks send the same rendering.
import { presentPayment, presentPaymentWithoutSecret, type Payment } from '../payments/payment.ts'
import { presentRefund, type Refund } from '../payments/refund.ts'
import { presentDispute, type Dispute } from '../payments/dispute.ts'
import { showId } from '../resource-id.ts'
import { presentEventEndpoint, type EventEndpoint } from '../webhooks/webhook-endpoint.ts'

export interface Event {
  readonly tenantId: string
  readonly id: string
  readonly type: string
  /** The resource as it was when the event happened. */
  readonly subject:
    | { readonly kind: 'payment'; readonly payment: Payment }
    | { readonly kind: 'refund'; readonly refund: Refund }
    | { readonly kind: 'dispute'; readonly dispute: Dispute }
    | { readonly kind: 'webhook_endpoint'; readonly endpoint: EventEndpoint }
  /** The idempotency key of the request that caused the event; null when no request did. */
  readonly idempotencyKey: string | null
  readonly createdAt: Date
}

export const showEventId = (id: string): string => showId('evt', id)

/** Renders the event for the API and for webhooks; times in ISO 8601. */
export function presentEvent(event: Event): Record<string, unknown> {
  return render(event, presentSubject(event.subject))
}

/** Renders the event for operators, who need no client secret. */
export function presentEventWithoutSecret(event: Event): Record<string, unknown> {
  const { subject } = event
  const isOfPayment = subject.kind === 'payment'
  return render(
    event,
    isOfPayment ? presentPaymentWithoutSecret(subject.payment) : presentSubject(subject),
  )
}

function render(event: Event, object: Record<string, unknown>): Record<string, unknown> {
  return {
    id: showEventId(event.id),
    object: 'event',
    type: event.type,
    data: { object },
    request: { idempotency_key: event.idempotencyKey },
    created_at: event.createdAt.toISOString(),
    // The name that Standard Webhooks recommends.
    timestamp: event.createdAt.toISOString(),
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
    case 'webhook_endpoint':
      return presentEventEndpoint(subject.endpoint)
  }
}
