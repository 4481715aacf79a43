// Reads a transaction of Braintree, of which no member is taken for granted: the package makes one of
// any answer. A sale holds and captures money, a credit refunds it.
import type { Correlation } from '../../src/provider/payment-provider.ts'
import { isJson, type Json, fitTextOrNothing } from '../../src/provider/provider-text.ts'
import { readAmount } from './amounts.ts'
import { correlationIn } from './order-id.ts'

export interface Transaction {
  readonly id: string
  readonly type: 'sale' | 'credit'
  /** What is held; once captured, what was captured; of a credit, what is refunded. */
  readonly amountMinor: number
  readonly currency: string
  /** Any text: Braintree may add statuses. */
  readonly status: string
  readonly orderId: unknown
  readonly correlation: Correlation | null
  readonly createdAt: Date
  /** The rest of the answer. */
  readonly members: Json
}

/** Undefined when the value is no transaction. */
export function readTransaction(value: unknown): Transaction | undefined {
  if (!isJson(value)) return undefined
  const { id, type, currencyIsoCode, status, orderId } = value
  const currency = typeof currencyIsoCode === 'string' ? currencyIsoCode.toLowerCase() : ''
  const amountMinor = readAmount(value['amount'], currency)
  const createdAt = readTime(value['createdAt'])
  const hasNames = isTransactionId(id) && /^[a-z]{3}$/.test(currency) && typeof status === 'string'
  if (!hasNames || amountMinor === undefined || createdAt === undefined) return undefined
  if (type !== 'sale' && type !== 'credit') return undefined
  const correlation = correlationIn(orderId)
  const known = {
    id,
    type,
    currency,
    status,
    orderId,
    correlation,
    amountMinor,
    createdAt,
  } as const
  return { ...known, members: value }
}

/** Ids are short, and the package refuses other characters in a path. */
export function isTransactionId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w-]{1,36}$/.test(value)
}

/** A time such as `2026-01-31T08:00:00Z`. */
export function readTime(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}/.test(value)) return undefined
  const time = new Date(value)
  return Number.isNaN(time.getTime()) ? undefined : time
}

/** When the transaction first had the status. */
export function timeOfStatus(transaction: Transaction, status: string): Date | undefined {
  const times = historyOf(transaction, status).map(({ timestamp }) => readTime(timestamp))
  const known = times.filter((time) => time !== undefined)
  return known.toSorted((one, other) => one.getTime() - other.getTime())[0]
}

/** What was held, also once a part of it was captured. */
export function authorizedMinor(transaction: Transaction): number {
  const amounts = historyOf(transaction, 'authorized').map(({ amount }) =>
    readAmount(amount, transaction.currency),
  )
  const known = amounts.filter((amount) => amount !== undefined)
  return Math.max(transaction.amountMinor, known.at(-1) ?? 0)
}

function historyOf({ members: { statusHistory } }: Transaction, status: string): Json[] {
  const entries: unknown[] = Array.isArray(statusHistory) ? statusHistory : []
  return entries.filter(isJson).filter((entry) => entry['status'] === status)
}

/** For the timeline: ids, status and amount, and never what describes the card. */
export function describeTransaction(value: unknown): Record<string, unknown> {
  if (!isJson(value)) return {}
  const transaction = readTransaction(value)
  return {
    transaction_id: fitTextOrNothing(value['id']),
    transaction_status: fitTextOrNothing(value['status']),
    amount: transaction?.amountMinor,
    processor_code: fitTextOrNothing(value['processorResponseCode']),
    rejection: fitTextOrNothing(value['gatewayRejectionReason']),
  }
}
