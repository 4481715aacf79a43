// Events that a provider sends on its own accord. One is a hint that something has happened, never a
// truth: what has happened is read from the provider when the event is applied.
import type { Payment } from '../payments/payment.ts'

/**
 * `pending`: not applied yet. `applied`: it set an operation going that has ended. `ignored`: there was
 * nothing to do. `unmatched`: it is about a payment that is none of ours, and kept for the reconciler.
 */
export const providerEventStatuses = ['pending', 'applied', 'ignored', 'unmatched'] as const
export type ProviderEventStatus = (typeof providerEventStatuses)[number]

/** Names one event: ids are the provider's, so that the provider is a part of the name. */
export interface ProviderEventRef {
  readonly provider: string
  readonly id: string
}

/** What is kept of an event. Nothing else of it is stored: the rest may hold details of cards. */
export interface ProviderEvent extends ProviderEventRef {
  readonly type: string
  /** The object that it is about, such as a payment intent, a charge or a refund. */
  readonly objectId: string
  /** The provider's id of the payment that the object is, or belongs to; null when there is none. */
  readonly providerPaymentId: string | null
  /** Our payment, by the metadata that we gave the object. */
  readonly subject: { readonly tenantId: string; readonly paymentId: string } | null
  /** When it happened, by the provider's clock. */
  readonly occurredAt: Date
}

export const REMINDER = 'reminder'

/**
 * An event of our own making, for a payment that waits for the holder of its card: it has somebody look
 * now and then, in case all that the provider sends is lost.
 */
export function reminderOf(payment: Payment, now: Date): ProviderEvent {
  return {
    provider: payment.provider,
    id: `${REMINDER}_${payment.id}`,
    type: REMINDER,
    objectId: payment.providerPaymentId ?? '',
    providerPaymentId: payment.providerPaymentId,
    subject: { tenantId: payment.tenantId, paymentId: payment.id },
    occurredAt: now,
  }
}

const COMPARISON = 'comparison'

/** An event of our own making: a comparison has found a payment further on at the provider than here. */
export function comparisonOf(payment: Payment, standing: string, now: Date): ProviderEvent {
  return {
    ...reminderOf(payment, now),
    id: `${COMPARISON}_${payment.id}_${standing}`,
    type: COMPARISON,
  }
}

export function isReminder({ type }: ProviderEvent): boolean {
  return type === REMINDER
}

/**
 * The key of the operation that an event sets going. Clients' keys are ASCII, so that none of them can
 * name it.
 */
export function keyOfProviderEvent({ id }: ProviderEventRef): string {
  return `§provider-event:${id}`
}

/** Whether an operation was set going by ourselves, so that its key is nobody's to see. */
export function isInternalKey(key: string): boolean {
  return key.startsWith('§')
}
