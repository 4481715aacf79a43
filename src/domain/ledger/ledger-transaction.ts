// Renders ledger transactions and balances for the API. Debits are positive and credits negative,
// so the amounts of a transaction sum to zero.
import { showPaymentId } from '../payments/payment.ts'
import { showRefundId } from '../payments/refund.ts'
import { showDisputeId } from '../payments/dispute.ts'
import { showId } from '../resource-id.ts'
import type { LedgerAccount, LedgerKind, Posting } from './ledger.ts'

/** One movement of money: the postings that were written together. */
export interface LedgerTransaction {
  readonly id: string
  readonly kind: LedgerKind
  readonly paymentId: string
  readonly refundId: string | null
  readonly disputeId: string | null
  readonly currency: string
  readonly postings: readonly Posting[]
  readonly createdAt: Date
}

/** The sum of a tenant's postings to one account in one currency, in minor units. */
export interface LedgerBalance {
  readonly account: LedgerAccount
  readonly currency: string
  readonly amountMinor: number
}

const showLedgerTransactionId = (id: string): string => showId('ltx', id)

/** Renders the ledger transaction for the API; amounts in minor units, times in ISO 8601. */
export function presentLedgerTransaction(transaction: LedgerTransaction): Record<string, unknown> {
  const { id, kind, paymentId, refundId, disputeId, currency, postings, createdAt } = transaction
  return {
    id: showLedgerTransactionId(id),
    object: 'ledger_transaction',
    kind,
    payment: showPaymentId(paymentId),
    refund: refundId && showRefundId(refundId),
    dispute: disputeId && showDisputeId(disputeId),
    entries: postings.flatMap(({ debit, credit, amountMinor }) => [
      { account: debit, amount: amountMinor, currency },
      { account: credit, amount: -amountMinor, currency },
    ]),
    created_at: createdAt.toISOString(),
  }
}

export function presentLedgerBalance(balance: LedgerBalance): Record<string, unknown> {
  const { account, currency, amountMinor } = balance
  return { object: 'ledger_balance', account, currency, amount: amountMinor }
}
