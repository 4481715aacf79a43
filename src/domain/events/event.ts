// An event as the domain knows it, and as the API and the webhooks show it: the same text for both.
import { presentPayment, type Payment } from '../payments/payment.ts'
import { paymentStatuses } from '../payments/payment-status.ts'
import { presentRefund, refundStatuses, type Refund } from '../payments/refund.ts'
import { parseId, showId } from '../resource-id.ts'

/** Every type of event: one for each change of a resource's status, and one for its beginning. */
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
  /** The key of the request that led to it; null when no request did. */
  readonly idempotencyKey: string | null
  readonly createdAt: Date
}

export const showEventId = (id: string): string => showId('evt', id)
export const parseEventId = (text: string): string | undefined => parseId('evt', text)

/** The event as the API shows it and as webhooks carry it; times in ISO 8601. */
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
