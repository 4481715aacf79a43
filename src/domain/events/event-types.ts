// Lists the types of events.
import { paymentStatuses } from '../payments/payment.ts'
import { refundStatuses } from '../payments/refund.ts'

/** Sent once before a hold ends: the client can still capture the payment. */
export const AUTHORIZATION_EXPIRING = 'payment.authorization_expiring'

/** The event of a payment that its bank suspects to be fraud. The status stays as it is. */
export const EARLY_FRAUD_WARNING = 'payment.early_fraud_warning'

/** The service has disabled an endpoint, which its tenant has not requested. */
export const ENDPOINT_DISABLED = 'webhook_endpoint.disabled'

/** Sent to one endpoint, at its tenant's request. */
export const ENDPOINT_TEST = 'webhook_endpoint.test'

/** Stands for every event type, including types of later versions. */
export const EVERY_EVENT = '*'

/**
 * The events about a payment whose status stays as it is. An operation announces its own by the
 * member `announces` of its writes.
 */
export const announcedEvents = [AUTHORIZATION_EXPIRING, EARLY_FRAUD_WARNING] as const

export type AnnouncedEvent = (typeof announcedEvents)[number]

/**
 * Every event type: one per status of a payment or refund, and one for its creation; those above;
 * and those of disputes.
 */
export const eventTypes: readonly string[] = [
  ...typesOf('payment', paymentStatuses),
  ...announcedEvents,
  ...typesOf('refund', refundStatuses),
  'dispute.created',
  'dispute.updated',
  'dispute.funds_withdrawn',
  'dispute.funds_reinstated',
  'dispute.closed',
  ENDPOINT_DISABLED,
  ENDPOINT_TEST,
]

function typesOf(resource: 'payment' | 'refund', statuses: readonly string[]): string[] {
  return ['created', ...statuses].map((change) => `${resource}.${change}`)
}
