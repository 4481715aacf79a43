// The provider status of a payment: its state at the provider. Decides which status of our payment
// follows.
import {
  isFinal,
  waitingStatuses,
  type PaymentStatus,
  type WaitingStatus,
  type Cancellation,
  type Failure,
  type Hold,
  type Payment,
} from './payment.ts'

/**
 * `undecided`: the cardholder has not authenticated yet, or the provider is still working on it.
 * `refused`: the cardholder failed to authenticate, or the card was declined after all.
 */
export type ProviderStatus =
  | { readonly status: 'undecided' }
  | ({ readonly status: 'held' } & Hold)
  | ({ readonly status: 'canceled' } & Cancellation)
  | { readonly status: 'captured'; readonly amountCapturedMinor: number }
  | { readonly status: 'refused'; readonly failure: Failure }

/**
 * Whether the provider status changes the status of the payment. The client decides about held money whose
 * capture was given up.
 */
export function hasMovedOn(payment: Payment, providerStatus: ProviderStatus): boolean {
  if (providerStatus.status === 'held' && payment.status === 'requires_capture') return false
  return statusAfter(payment, providerStatus, payment.status) !== payment.status
}

/** The status that follows from the provider status. `undecided` never moves a payment back. */
export function statusAfter(
  { captureMethod }: Payment,
  providerStatus: ProviderStatus,
  before: PaymentStatus,
): PaymentStatus {
  switch (providerStatus.status) {
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

/** Whether a payment in this status follows changes at the provider. */
export function isFollowed(status: PaymentStatus): status is WaitingStatus {
  return (waitingStatuses as readonly PaymentStatus[]).includes(status)
}

/**
 * Whether a payment of the provider that names ours holds money, or may hold it once its cardholder
 * acts, while ours uses another one and will never use this one. A payment that is not final and uses
 * none may still find it. Once true, it stays true until the hold ends.
 */
export function isSurplusHold(
  ours: Payment,
  theirs: {
    readonly providerPaymentId: string
    readonly currency: string
    readonly providerStatus: ProviderStatus | undefined
  },
): boolean {
  const usesOther =
    ours.providerPaymentId === null
      ? isFinal(ours.status)
      : ours.providerPaymentId !== theirs.providerPaymentId
  const isOpen =
    theirs.providerStatus?.status === 'held' || theirs.providerStatus?.status === 'undecided'
  return usesOther && isOpen && theirs.currency === ours.currency
}
