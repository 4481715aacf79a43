// The standing of a refund: its state at the provider. Decides which status of our refund follows,
// and what is posted to the ledger.
import { entryOfFailedRefund, entryOfRefund, type LedgerEntry } from '../ledger/ledger.ts'
import type { Failure } from './payment.ts'
import { refundAfter, refundTransitions, type ChangedRefund, type Refund } from './refund.ts'

export interface RefundStanding {
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

/** Whether the standing changes the refund. A standing from before the recorded one does not. */
export function refundHasMovedOn(refund: Refund, { status, moved }: RefundStanding): boolean {
  const following: readonly string[] = refundTransitions[refund.status]
  return following.includes(status) && (status !== refund.status || (moved && !refund.moved))
}

/** Whether the refund gives the customer no money: it was given, and has returned. */
export function hasReturned({ status }: RefundStanding): boolean {
  return status === 'failed' || status === 'canceled'
}

/**
 * What to write for the standing: the refund, and a ledger transaction for each movement that is
 * not posted yet.
 */
export function writesOfStanding(
  refund: Refund,
  standing: RefundStanding,
): { refund: ChangedRefund; ledger: LedgerEntry[] } {
  const moved = refund.moved || standing.moved
  const { status, failure, providerRefundId } = standing
  return {
    refund: refundAfter(refund, { status, failure, providerRefundId, moved }),
    ledger: [
      ...(moved && !refund.moved ? [entryOfRefund(refund)] : []),
      ...(moved && hasReturned(standing) ? [entryOfFailedRefund(refund)] : []),
    ],
  }
}
