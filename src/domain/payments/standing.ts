// Where a payment stands at the provider, and what follows from it for our payment.
import { waitingStatuses, type PaymentStatus, type WaitingStatus } from './payment-status.ts'
import type { Failure, Payment } from './payment.ts'

/**
 * `undecided`: the cardholder has not authenticated yet, or the provider still works on it. `refused`: the
 * cardholder failed, or the card was declined after all.
 */
export type Standing =
  | { readonly status: 'undecided' | 'held' | 'canceled' }
  | { readonly status: 'captured'; readonly amountCapturedMinor: number }
  | { readonly status: 'refused'; readonly failure: Failure }

/** Whether the provider's standing takes the payment any further. */
export function hasMovedOn(payment: Payment, standing: Standing): boolean {
  return statusAfter(payment, standing, payment.status) !== payment.status
}

/** The status that the standing leads to. An undecided one never takes a payment back. */
export function statusAfter(
  { captureMethod }: Payment,
  standing: Standing,
  before: PaymentStatus,
): PaymentStatus {
  switch (standing.status) {
    case 'undecided':
      return before
    case 'held':
      return captureMethod === 'automatic' ? 'processing' : 'requires_capture'
    case 'captured':
      return 'succeeded'
    case 'refused':
      return 'declined'
    case 'canceled':
      return 'canceled'
  }
}

/** Whether a payment of this status waits for what happens at the provider. */
export function isFollowed(status: PaymentStatus): status is WaitingStatus {
  return (waitingStatuses as readonly PaymentStatus[]).includes(status)
}
