// Defines refunds, and renders them for the API. The provider status of a refund is its state at the
// provider: it decides which status of our refund follows, and what is posted to the ledger.
import { parseId, showId } from '../resource-id.ts'
import { presentFailure, showPaymentId, type Failure } from './payment.ts'
import { entryOfFailedRefund, entryOfRefund, type LedgerEntry } from '../ledger/ledger.ts'

/**
 * Every status of a refund, with the statuses that may follow it. `processing` and `unknown` mean
 * the same as for payments. The others are Stripe's, and follow the provider: a refund can fail
 * weeks after it succeeded. `failed` without a failure is a refund that the service gave up, and a
 * retry of its request continues it; or that its client canceled in time.
 *
 * @see https://docs.stripe.com/refunds#failed-refunds
 */
export const refundTransitions = {
  processing: [
    'pending',
    'requires_action',
    'succeeded',
    'declined',
    'failed',
    'canceled',
    'unknown',
  ],
  unknown: ['processing'],
  pending: ['pending', 'requires_action', 'succeeded', 'failed', 'canceled'],
  requires_action: ['requires_action', 'pending', 'succeeded', 'failed', 'canceled'],
  succeeded: ['failed', 'canceled'],
  failed: ['processing'],
  declined: [],
  canceled: [],
} as const satisfies Record<string, readonly string[]>

export type RefundStatus = keyof typeof refundTransitions

export const refundStatuses = Object.keys(refundTransitions) as RefundStatus[]

/** Stripe's reasons: https://docs.stripe.com/api/refunds/create#create_refund-reason */
export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const
type RefundReason = (typeof refundReasons)[number]

export interface Refund {
  readonly tenantId: string
  readonly id: string
  readonly paymentId: string
  readonly amountMinor: number
  readonly currency: string
  readonly status: RefundStatus
  readonly reason: RefundReason | null
  /** The client's own name of what is returned. */
  readonly reference: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly failure: Failure | null
  readonly providerRefundId: string | null
  /** Whether the money has left the balance at the provider; a failed refund has returned it. */
  readonly moved: boolean
  readonly createdAt: Date
}

/** A change of a refund. Missing members stay as they are, except `failure`, which is cleared. */
export interface RefundChange {
  readonly status: RefundStatus
  readonly failure?: Failure | undefined
  readonly providerRefundId?: string
  readonly moved?: boolean
}

/** A refund after a change, with the status before it. */
export type ChangedRefund = Refund & { readonly previousStatus: RefundStatus }

export function refundAfter(refund: Refund, change: RefundChange): ChangedRefund {
  return {
    ...refund,
    status: change.status,
    previousStatus: refund.status,
    failure: change.failure ?? null,
    providerRefundId: change.providerRefundId ?? refund.providerRefundId,
    moved: change.moved ?? refund.moved,
  }
}

export const showRefundId = (id: string): string => showId('re', id)
export const parseRefundId = (text: string): string | undefined => parseId('re', text)

/** The API path of a refund. */
export function refundPath(id: string): string {
  return `/v1/refunds/${showRefundId(id)}`
}

/** Renders the refund for the API; the amount in minor units, times in ISO 8601. */
export function presentRefund(refund: Refund): Record<string, unknown> {
  return {
    id: showRefundId(refund.id),
    object: 'refund',
    payment: showPaymentId(refund.paymentId),
    amount: refund.amountMinor,
    currency: refund.currency,
    status: refund.status,
    reason: refund.reason,
    reference: refund.reference,
    metadata: refund.metadata,
    failure: refund.failure && presentFailure(refund.failure),
    created_at: refund.createdAt.toISOString(),
  }
}

export interface RefundProviderStatus {
  readonly providerRefundId: string
  readonly status: 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled'
  /** Why it failed. */
  readonly failure?: Failure | undefined
  /** Whether the money has left the balance. It returns when the refund fails or is canceled. */
  readonly moved: boolean
}

/** The statuses in which a refund waits for the provider, and keeps its amount reserved. */
export const waitingRefundStatuses = ['pending', 'requires_action'] as const

/** The statuses that a later change at the provider can end. */
export const followedRefundStatuses = [...waitingRefundStatuses, 'succeeded'] as const

/**
 * Whether the provider status changes the refund. A provider status from before the recorded one
 * does not.
 */
export function refundHasMovedOn(refund: Refund, { status, moved }: RefundProviderStatus): boolean {
  const following: readonly string[] = refundTransitions[refund.status]
  return following.includes(status) && (status !== refund.status || (moved && !refund.moved))
}

/** Whether the refund gives the customer no money: it was given, and has returned. */
export function hasReturned({ status }: RefundProviderStatus): boolean {
  return status === 'failed' || status === 'canceled'
}

/**
 * What to write for the provider status: the refund, and a ledger transaction for each movement that is
 * not posted yet.
 */
export function writesOfStanding(
  refund: Refund,
  providerStatus: RefundProviderStatus,
): { refund: ChangedRefund; ledger: LedgerEntry[] } {
  const moved = refund.moved || providerStatus.moved
  const { status, failure, providerRefundId } = providerStatus
  return {
    refund: refundAfter(refund, { status, failure, providerRefundId, moved }),
    ledger: [
      ...(moved && !refund.moved ? [entryOfRefund(refund)] : []),
      ...(moved && hasReturned(providerStatus) ? [entryOfFailedRefund(refund)] : []),
    ],
  }
}
