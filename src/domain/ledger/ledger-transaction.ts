// Ledger transactions and balances as the API shows them: signed amounts that sum to zero, debits
// positive and credits negative.
import type { LedgerAccount, LedgerKind, Posting } from './ledger.ts'
import { showPaymentId } from '../payments/payment.ts'
import { showRefundId } from '../payments/refund.ts'
import { parseId, showId } from '../resource-id.ts'

/** One movement of money, made of the postings that were added together. */
export interface LedgerTransaction {
  readonly id: string
  readonly kind: LedgerKind
  readonly paymentId: string
  readonly refundId: string | null
  readonly currency: string
  readonly postings: readonly Posting[]
  readonly createdAt: Date
}

/** What all postings of a tenant to one account in one currency come to, in minor units. */
export interface LedgerBalance {
  readonly account: LedgerAccount
  readonly currency: string
  readonly amountMinor: number
}

export const showLedgerTransactionId = (id: string): string => showId('ltx', id)
export const parseLedgerTransactionId = (text: string): string | undefined => parseId('ltx', text)

/** The ledger transaction as the API shows it; amounts in minor units, times in ISO 8601. */
export function presentLedgerTransaction(transaction: LedgerTransaction): Record<string, unknown> {
  const { id, kind, paymentId, refundId, currency, postings, createdAt } = transaction
  return {
    id: showLedgerTransactionId(id),
    object: 'ledger_transaction',
    kind,
    payment: showPaymentId(paymentId),
    refund: refundId && showRefundId(refundId),
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
