// A refund as the domain knows it, and as the API shows it.
import type { Failure } from './payment.ts'
import { parseId, showId } from '../resource-id.ts'
import { showPaymentId } from './payment.ts'

/** Every status of a refund, with those that may follow it; the words mean what they do for payments. */
export const refundTransitions = {
  processing: ['succeeded', 'declined', 'failed', 'unknown'],
  unknown: ['processing'],
  failed: ['processing'],
  succeeded: [],
  declined: [],
} as const satisfies Record<string, readonly string[]>

export type RefundStatus = keyof typeof refundTransitions

export const refundStatuses = Object.keys(refundTransitions) as RefundStatus[]

/** Stripe's reasons: https://docs.stripe.com/api/refunds/create#create_refund-reason */
export const refundReasons = ['duplicate', 'fraudulent', 'requested_by_customer'] as const
export type RefundReason = (typeof refundReasons)[number]

export interface Refund {
  readonly tenantId: string
  readonly id: string
  readonly paymentId: string
  readonly amountMinor: number
  readonly currency: string
  readonly status: RefundStatus
  readonly reason: RefundReason | null
  readonly metadata: Readonly<Record<string, string>>
  readonly failure: Failure | null
  readonly providerRefundId: string | null
  readonly createdAt: Date
}

/** What became of a refund; what is left out stays as it is, but a failure is forgotten. */
export interface RefundChange {
  readonly status: RefundStatus
  readonly failure?: Failure
  readonly providerRefundId?: string
}

/** A refund as a change leaves it, with the status before it. */
export type ChangedRefund = Refund & { readonly previousStatus: RefundStatus }

export function refundAfter(refund: Refund, change: RefundChange): ChangedRefund {
  return {
    ...refund,
    status: change.status,
    previousStatus: refund.status,
    failure: change.failure ?? null,
    providerRefundId: change.providerRefundId ?? refund.providerRefundId,
  }
}

export const showRefundId = (id: string): string => showId('re', id)
export const parseRefundId = (text: string): string | undefined => parseId('re', text)

/** The path at which a refund can be read. */
export function refundPath(id: string): string {
  return `/v1/refunds/${showRefundId(id)}`
}

/** The refund as the API shows it; the amount in minor units, times in ISO 8601. */
export function presentRefund(refund: Refund): Record<string, unknown> {
  return {
    id: showRefundId(refund.id),
    object: 'refund',
    payment: showPaymentId(refund.paymentId),
    amount: refund.amountMinor,
    currency: refund.currency,
    status: refund.status,
    reason: refund.reason,
    metadata: refund.metadata,
    failure: refund.failure && {
      code: refund.failure.code,
      decline_code: refund.failure.declineCode,
      message: refund.failure.message,
    },
    created_at: refund.createdAt.toISOString(),
  }
}
