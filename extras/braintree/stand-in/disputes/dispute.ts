// A dispute, and how it is shown. Control routes open and move it: at Braintree banks do.
import { showAmount } from '../transactions/amounts.ts'
import type { Member } from '../requests/xml.ts'

export const disputeKinds = ['chargeback', 'pre_arbitration', 'retrieval'] as const
export const disputeStatuses = [
  'open',
  'disputed',
  'under_review',
  'won',
  'lost',
  'accepted',
  'auto_accepted',
  'expired',
] as const

export interface Dispute {
  readonly id: string
  readonly kind: (typeof disputeKinds)[number]
  status: (typeof disputeStatuses)[number]
  readonly amountMinor: number
  readonly currency: string
  readonly transactionId: string
  readonly orderId: string | null
  /** `2026-01-31`. */
  readonly receivedDate: string
  effectiveDate: string
}

export function showDispute(dispute: Dispute): { readonly [name: string]: Member } {
  const { id, kind, status, amountMinor, currency, transactionId, orderId } = dispute
  const amount = showAmount(amountMinor, currency)
  return {
    id,
    kind,
    status,
    reason: 'fraud',
    currencyIsoCode: currency.toUpperCase(),
    amountDisputed: amount,
    amountWon: status === 'won' ? amount : showAmount(0, currency),
    receivedDate: dispute.receivedDate,
    replyByDate: dispute.receivedDate,
    transaction: { id: transactionId, amount, orderId },
    statusHistory: [{ status, effectiveDate: dispute.effectiveDate }],
  }
}
