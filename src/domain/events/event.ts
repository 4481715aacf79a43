// Defines the events of payments and refunds, and renders them. The API and the webhooks send the
// same rendering.
import { presentPayment, type Payment } from '../payments/payment.ts'
import { paymentStatuses } from '../payments/payment-status.ts'
import { presentRefund, refundStatuses, type Refund } from '../payments/refund.ts'
import { parseId, showId } from '../resource-id.ts'

/** Every event type: one per status of a resource, and one for its creation. */
export const eventTypes: readonly string[] = [
  ...typesOf('payment', paymentStatuses),
  ...typesOf('refund', refundStatuses),
]

function typesOf(resource: 'payment' | 'refund', statuses: readonly string[]): string[] {
  return ['created', ...statuses].map((change) => `${resource}.${change}`)
}

export interface Event {
  readonly tenantId: string
  readonly id: string
  readonly type: string
  /** The payment or the refund as it was when the event happened. */
  readonly subject:
    | { readonly kind: 'payment'; readonly payment: Payment }
    | { readonly kind: 'refund'; readonly refund: Refund }
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
    data: {
      object:
        subject.kind === 'payment'
          ? presentPayment(subject.payment)
          : presentRefund(subject.refund),
    },
    request: { idempotency_key: event.idempotencyKey },
    created_at: event.createdAt.toISOString(),
  }
}
