// A transaction, and how it is shown. Amounts are kept in hundredths, or in whole
// units of a currency without decimals, as the executed log has them.
import type { Member } from '../requests/xml.ts'
import { showAmount } from './amounts.ts'

export type Status =
  | 'authorizing'
  | 'authorized'
  | 'authorization_expired'
  | 'submitted_for_settlement'
  | 'settling'
  | 'settled'
  | 'settlement_pending'
  | 'settlement_confirmed'
  | 'settlement_declined'
  | 'processor_declined'
  | 'gateway_rejected'
  | 'failed'
  | 'voided'

interface StatusEvent {
  readonly status: string
  readonly timestamp: Date
  readonly amountMinor: number
}

export interface Transaction {
  readonly id: string
  readonly type: 'sale' | 'credit'
  status: Status
  amountMinor: number
  readonly currency: string
  readonly merchantAccountId: string
  orderId: string | null
  readonly method: string
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly refundIds: string[]
  readonly refundedTransactionId: string | null
  readonly processorCode: string | null
  readonly processorText: string | null
  readonly rejection: string | null
  readonly history: StatusEvent[]
  /** Members that a test replaces in what is shown. */
  planted: { readonly [name: string]: Member }
}

export function enter(transaction: Transaction, status: Status, nowMs: number): void {
  transaction.status = status
  const { amountMinor } = transaction
  transaction.history.push({ status, timestamp: new Date(nowMs), amountMinor })
}

export function showTransaction(transaction: Transaction): { readonly [name: string]: Member } {
  const { id, type, status, amountMinor, currency, history, createdAt, planted } = transaction
  return {
    id,
    status,
    type,
    currencyIsoCode: currency.toUpperCase(),
    amount: showAmount(amountMinor, currency),
    merchantAccountId: transaction.merchantAccountId,
    orderId: transaction.orderId,
    createdAt,
    updatedAt: history.at(-1)?.timestamp ?? createdAt,
    authorizationExpiresAt: transaction.expiresAt,
    processorResponseCode: transaction.processorCode,
    processorResponseText: transaction.processorText,
    gatewayRejectionReason: transaction.rejection,
    refundIds: transaction.refundIds,
    refundedTransactionId: transaction.refundedTransactionId,
    creditCard: { bin: '411111', 'last-4': '1111', cardType: 'Visa', cardholderName: 'Ada' },
    disputes: [],
    statusHistory: history.map(({ timestamp, ...event }) => ({
      timestamp,
      status: event.status,
      amount: showAmount(event.amountMinor, currency),
    })),
    ...planted,
  }
}
