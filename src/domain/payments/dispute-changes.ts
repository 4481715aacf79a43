// Decides what a dispute's standing at the provider changes: our dispute, the ledger, and the events.
import { entriesOfDispute, type LedgerEntry } from '../ledger/ledger.ts'
import {
  closedDisputeStatuses,
  type Dispute,
  type DisputeStanding,
  type DisputeStatus,
} from './dispute.ts'

/** The events of a dispute, beside `dispute.created`. */
type DisputeChangeType =
  | 'dispute.updated'
  | 'dispute.funds_withdrawn'
  | 'dispute.funds_reinstated'
  | 'dispute.closed'

/** A dispute after a change, with the standing that it had before. */
export interface ChangedDispute {
  readonly dispute: Dispute
  readonly before: DisputeStanding
  readonly events: readonly DisputeChangeType[]
}

/**
 * The status with which our dispute begins. One that was closed before we learned of it begins open, so
 * that its end is an event of its own.
 */
export function firstStatus({ status }: DisputeStanding): DisputeStatus {
  if (!closedDisputeStatuses.includes(status)) return status
  return status === 'warning_closed' ? 'warning_needs_response' : 'needs_response'
}

/** Whether the standing changes the dispute. A standing from before the recorded one does not. */
export function disputeHasMovedOn(dispute: DisputeStanding, standing: DisputeStanding): boolean {
  const isEarlier =
    standing.withdrawnMinor < dispute.withdrawnMinor ||
    standing.reinstatedMinor < dispute.reinstatedMinor
  return !isEarlier && (hasNewTerms(dispute, standing) || hasMoved(dispute, standing))
}

/** What to write: the dispute, and a ledger transaction for each movement that is not posted yet. */
export function writesOfDispute(
  before: Dispute,
  standing: DisputeStanding,
): { dispute: ChangedDispute; ledger: LedgerEntry[] } {
  const dispute = { ...before, ...standing }
  return {
    dispute: { dispute, before, events: eventsOf(before, standing) },
    ledger: entriesOfDispute({
      currency: standing.currency,
      withdrawnMinor: standing.withdrawnMinor - before.withdrawnMinor,
      reinstatedMinor: standing.reinstatedMinor - before.reinstatedMinor,
      feeMinor: standing.feeMinor - before.feeMinor,
      feeCurrency: standing.feeCurrency ?? standing.currency,
    }),
  }
}

function eventsOf(before: DisputeStanding, after: DisputeStanding): DisputeChangeType[] {
  const isClosed = closedDisputeStatuses.includes(after.status)
  return [
    ...(hasNewTerms(before, after) ? (['dispute.updated'] as const) : []),
    ...(after.withdrawnMinor > before.withdrawnMinor ? (['dispute.funds_withdrawn'] as const) : []),
    ...(after.reinstatedMinor > before.reinstatedMinor
      ? (['dispute.funds_reinstated'] as const)
      : []),
    ...(isClosed && after.status !== before.status ? (['dispute.closed'] as const) : []),
  ]
}

function hasMoved(before: DisputeStanding, after: DisputeStanding): boolean {
  return (
    after.withdrawnMinor !== before.withdrawnMinor ||
    after.reinstatedMinor !== before.reinstatedMinor ||
    after.feeMinor !== before.feeMinor
  )
}

function hasNewTerms(before: DisputeStanding, after: DisputeStanding): boolean {
  return (
    after.status !== before.status ||
    after.amountMinor !== before.amountMinor ||
    after.currency !== before.currency ||
    after.reason !== before.reason ||
    after.evidenceDueAt?.getTime() !== before.evidenceDueAt?.getTime()
  )
}
