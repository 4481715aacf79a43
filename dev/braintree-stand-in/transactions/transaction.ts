// A transaction, and how it is shown. Amounts are kept in minor units, as the executed log has them.
import type { Member } from '../requests/xml.ts'

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

/** ISO 4217: the currencies without decimals, and those with three. */
const PLACES: ReadonlyMap<string, number> = new Map([
  ['jpy', 0],
  ['krw', 0],
  ['kwd', 3],
  ['bhd', 3],
])

const placesOf = (currency: string) => PLACES.get(currency) ?? 2

export function showAmount(amountMinor: number, currency: string): string {
  const places = placesOf(currency)
  const digits = String(amountMinor).padStart(places + 1, '0')
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** NaN for a text in another format than that of the currency. */
export function readAmount(text: unknown, currency: string): number {
  const places = placesOf(currency)
  const format = new RegExp(places === 0 ? '^\\d+$' : `^\\d+\\.\\d{${places}}$`)
  return format.test(String(text)) ? Number(String(text).replace('.', '')) : Number.NaN
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
