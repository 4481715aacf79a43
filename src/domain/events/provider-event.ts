// Events that a provider sends. An event is only a hint that something happened: when it is
// applied, the service reads the actual state from the provider.
import type { Payment } from '../payments/payment.ts'

/**
 * `pending`: not applied yet. `applied`: it started an operation, which has completed. `ignored`:
 * there was nothing to do. `unmatched`: no payment of ours matches; the event is kept for the
 * reconciliation.
 */
export const providerEventStatuses = ['pending', 'applied', 'ignored', 'unmatched'] as const
export type ProviderEventStatus = (typeof providerEventStatuses)[number]

/** What an event is about. A dispute and a warning name no payment of ours. */
export const providerEventSubjects = ['payment', 'dispute', 'early_fraud_warning'] as const

/** Identifies one event. Event ids are unique per provider only. */
export interface ProviderEventRef {
  readonly provider: string
  readonly id: string
}

/** The stored part of an event. The rest is not stored, because it may contain card details. */
export interface ProviderEvent extends ProviderEventRef {
  readonly type: string
  readonly about: (typeof providerEventSubjects)[number]
  /** The provider's object that the event is about: a payment intent, a charge, a refund... */
  readonly objectId: string
  /** The provider's id of the payment that the object is or belongs to; null without one. */
  readonly providerPaymentId: string | null
  /** Our payment, taken from the metadata that we set on the object. */
  readonly subject: { readonly tenantId: string; readonly paymentId: string } | null
  /** By the provider's clock. */
  readonly occurredAt: Date
}

export const REMINDER = 'reminder'

/**
 * An internal event for a payment that waits for its cardholder. It makes a worker look at the
 * provider periodically, in case all events of the provider are lost.
 */
export function reminderOf(payment: Payment, now: Date): ProviderEvent {
  return {
    provider: payment.provider,
    id: `${REMINDER}_${payment.id}`,
    type: REMINDER,
    about: 'payment',
    objectId: payment.providerPaymentId ?? '',
    providerPaymentId: payment.providerPaymentId,
    subject: { tenantId: payment.tenantId, paymentId: payment.id },
    occurredAt: now,
  }
}

/**
 * An internal event: the time until which a payment could be captured is over. The provider should
 * have released its hold.
 */
export const EXPIRY = 'expiry'

export function expiryOf(payment: Payment, endedAt: Date): ProviderEvent {
  return {
    ...reminderOf(payment, endedAt),
    id: `${EXPIRY}_${payment.id}_${Math.round(endedAt.getTime() / 1_000)}`,
    type: EXPIRY,
  }
}

export function isReminder({ type }: ProviderEvent): boolean {
  return type === REMINDER
}

/** An internal event: a client canceled the key of an operation that is under way or completed. */
export const CANCELLATION = 'cancellation'

/** @param operation the operation of the key; its payment is the subject. */
export function cancellationOf(
  operation: { readonly tenantId: string; readonly id: string; readonly paymentId: string },
  provider: string,
  now: Date,
): ProviderEvent {
  const { tenantId, id, paymentId } = operation
  return {
    provider,
    id: `${CANCELLATION}_${id}`,
    type: CANCELLATION,
    about: 'payment',
    objectId: id,
    providerPaymentId: null,
    subject: { tenantId, paymentId },
    occurredAt: now,
  }
}

/**
 * The idempotency key of the operation that a cancellation starts.
 *
 * @param by what it does to the payment.
 * @param attempt from 1: a refund may leave something that needs another one.
 */
export function keyOfCancellation(
  by: 'cancel' | 'refund',
  operationId: string,
  attempt = 1,
): string {
  const first = `§cancellation:${by}:${operationId}`
  return attempt === 1 ? first : `${first}:${attempt}`
}

/**
 * The idempotency key of the operation that an event starts. Clients' keys are ASCII, so no client
 * can use this key.
 */
export function keyOfProviderEvent({ id }: ProviderEventRef): string {
  return `§provider-event:${id}`
}

/** The idempotency key of the operation that cancels a payment whose cardholder did not act. */
export function keyOfExpiry({ id }: Pick<Payment, 'id'>): string {
  return `§action-expired:${id}`
}

/** The idempotency key of the operation that releases a hold which no payment uses. */
export function keyOfRelease(providerPaymentId: string): string {
  return `§hold:${providerPaymentId}`
}
