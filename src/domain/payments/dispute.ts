// Defines disputes, and renders them for the API. A dispute is what the provider says it is: its
// statuses are Stripe's, and any of them may follow any other. Decides what a change
// of its provider status changes: our dispute, the ledger, and the events.
import { showId } from '../resource-id.ts'
import { showPaymentId } from './payment.ts'
import { entriesOfDispute, type LedgerEntry } from '../ledger/ledger.ts'

/**
 * Stripe's statuses. A `warning_` status is an inquiry, which moves no money.
 *
 * @see https://docs.stripe.com/api/disputes/object
 */
export const disputeStatuses = [
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
  'won',
  'lost',
  'prevented',
] as const
export type DisputeStatus = (typeof disputeStatuses)[number]

/** The statuses that need no more attention. A lost dispute can still turn won. */
export const closedDisputeStatuses: readonly DisputeStatus[] = [
  'warning_closed',
  'won',
  'lost',
  'prevented',
]

/** While a dispute of a payment has one of these, the provider refunds nothing of the payment. */
export const refundRefusingStatuses: readonly DisputeStatus[] = [
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
]

/** Where a dispute stands at the provider. Amounts are in minor units. */
export interface DisputeProviderStatus {
  readonly amountMinor: number
  readonly currency: string
  /** The provider's word. */
  readonly reason: string
  readonly status: DisputeStatus
  readonly evidenceDueAt: Date | null
  /** What the balance has lost, and what has come back, so far. Neither ever becomes less. */
  readonly withdrawnMinor: number
  readonly reinstatedMinor: number
  /** The provider's fees, less those that came back, in the currency of the balance. */
  readonly feeMinor: number
  readonly feeCurrency: string | null
}

export interface Dispute extends DisputeProviderStatus {
  readonly tenantId: string
  readonly id: string
  readonly paymentId: string
  readonly providerDisputeId: string
  /** When the provider opened it. */
  readonly openedAt: Date
  readonly createdAt: Date
}

export const showDisputeId = (id: string): string => showId('dp', id)

/** The API path of a dispute. */
export function disputePath(id: string): string {
  return `/v1/disputes/${showDisputeId(id)}`
}

/** Renders the dispute for the API; amounts in minor units, times in ISO 8601. */
export function presentDispute(dispute: Dispute): Record<string, unknown> {
  return {
    id: showDisputeId(dispute.id),
    object: 'dispute',
    payment: showPaymentId(dispute.paymentId),
    amount: dispute.amountMinor,
    amount_withdrawn: dispute.withdrawnMinor,
    amount_reinstated: dispute.reinstatedMinor,
    currency: dispute.currency,
    fee: dispute.feeMinor,
    fee_currency: dispute.feeCurrency,
    reason: dispute.reason,
    status: dispute.status,
    evidence_due_at: dispute.evidenceDueAt?.toISOString() ?? null,
    provider: { dispute_id: dispute.providerDisputeId },
    opened_at: dispute.openedAt.toISOString(),
    created_at: dispute.createdAt.toISOString(),
  }
}

/** The events of a dispute, beside `dispute.created`. */
type DisputeChangeType =
  | 'dispute.updated'
  | 'dispute.funds_withdrawn'
  | 'dispute.funds_reinstated'
  | 'dispute.closed'

/** A dispute after a change, with the provider status that it had before. */
export interface ChangedDispute {
  readonly dispute: Dispute
  readonly before: DisputeProviderStatus
  readonly events: readonly DisputeChangeType[]
}

/**
 * The status with which our dispute begins. One that was closed before we learned of it begins open, so
 * that its end is an event of its own.
 */
export function firstStatus({ status }: DisputeProviderStatus): DisputeStatus {
  if (!closedDisputeStatuses.includes(status)) return status
  return status === 'warning_closed' ? 'warning_needs_response' : 'needs_response'
}

/**
 * Whether the provider status changes the dispute. A provider status from before the recorded one
 * does not.
 */
export function disputeHasMovedOn(
  dispute: DisputeProviderStatus,
  providerStatus: DisputeProviderStatus,
): boolean {
  const isEarlier =
    providerStatus.withdrawnMinor < dispute.withdrawnMinor ||
    providerStatus.reinstatedMinor < dispute.reinstatedMinor
  return !isEarlier && (hasNewTerms(dispute, providerStatus) || hasMoved(dispute, providerStatus))
}

/** What to write: the dispute, and a ledger transaction for each movement that is not posted yet. */
export function writesOfDispute(
  before: Dispute,
  providerStatus: DisputeProviderStatus,
): { dispute: ChangedDispute; ledger: LedgerEntry[] } {
  const dispute = { ...before, ...providerStatus }
  return {
    dispute: { dispute, before, events: eventsOf(before, providerStatus) },
    ledger: entriesOfDispute({
      currency: providerStatus.currency,
      withdrawnMinor: providerStatus.withdrawnMinor - before.withdrawnMinor,
      reinstatedMinor: providerStatus.reinstatedMinor - before.reinstatedMinor,
      feeMinor: providerStatus.feeMinor - before.feeMinor,
      feeCurrency: providerStatus.feeCurrency ?? providerStatus.currency,
    }),
  }
}

function eventsOf(
  before: DisputeProviderStatus,
  after: DisputeProviderStatus,
): DisputeChangeType[] {
  const isClosed = closedDisputeStatuses.includes(after.status)
  const changes: readonly (readonly [DisputeChangeType, boolean])[] = [
    ['dispute.updated', hasNewTerms(before, after)],
    ['dispute.funds_withdrawn', after.withdrawnMinor > before.withdrawnMinor],
    ['dispute.funds_reinstated', after.reinstatedMinor > before.reinstatedMinor],
    ['dispute.closed', isClosed && after.status !== before.status],
  ]
  return changes.filter(([, happened]) => happened).map(([type]) => type)
}

const moneyMembers = ['withdrawnMinor', 'reinstatedMinor', 'feeMinor'] as const
const terms = ['status', 'amountMinor', 'currency', 'reason'] as const

function hasMoved(before: DisputeProviderStatus, after: DisputeProviderStatus): boolean {
  return moneyMembers.some((name) => after[name] !== before[name])
}

function hasNewTerms(before: DisputeProviderStatus, after: DisputeProviderStatus): boolean {
  return (
    terms.some((name) => after[name] !== before[name]) ||
    after.evidenceDueAt?.getTime() !== before.evidenceDueAt?.getTime()
  )
}
