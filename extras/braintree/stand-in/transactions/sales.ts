// Creates sales: authorizes the amount on a payment method. Without a request key the same sale twice
// makes two transactions, unless the second one is refused as a duplicate.
import type { WireAnswer } from '../../../../dev/stand-in/wire.ts'
import { invalid, refusedTransaction } from '../requests/refusals.ts'
import { newId, type Storage, type Endpoint } from '../storage.ts'
import { isListed, requireAmount } from './amounts.ts'
import { enter, showTransaction, type Status, type Transaction } from './transaction.ts'
import { transactionAnswer } from './changes.ts'

interface Verdict {
  readonly status: Status
  readonly processorCode?: string
  readonly processorText?: string
  readonly rejection?: string
}

const APPROVED: Verdict = {
  status: 'authorized',
  processorCode: '1000',
  processorText: 'Approved',
}

const PAYPAL = 'fake-paypal-one-time-nonce'

/** The nonces of Braintree's sandbox that the stand-in knows. */
const verdicts: ReadonlyMap<string, Verdict> = new Map([
  ['fake-valid-nonce', APPROVED],
  ['fake-valid-visa-nonce', APPROVED],
  ['fake-valid-mastercard-nonce', APPROVED],
  [PAYPAL, APPROVED],
  [
    'fake-processor-declined-visa-nonce',
    { status: 'processor_declined', processorCode: '2000', processorText: 'Do Not Honor' },
  ],
  [
    'fake-processor-failure-jcb-nonce',
    { status: 'failed', processorCode: '3000', processorText: 'Processor Network Unavailable' },
  ],
  ['fake-gateway-rejected-fraud-nonce', { status: 'gateway_rejected', rejection: 'fraud' }],
])

const AUTHORIZATION_DAYS = 7
const DAY_MS = 86_400_000

export const createSale: Endpoint = ({ body, nowMs }, storage): WireAnswer => {
  const { amount, order_id, merchant_account_id } = body
  const [currency = ''] = String(merchant_account_id).split('_account')
  if (!isListed(currency)) throw invalid('91513')
  const amountMinor = requireAmount(amount, currency)
  const method = methodOf(body)
  const verdict = verdicts.get(method) ?? APPROVED
  const isKeyed = body['api_request_key'] !== undefined
  const sale: Transaction = {
    id: newId(),
    type: 'sale',
    status: 'authorizing',
    amountMinor,
    currency,
    merchantAccountId: String(merchant_account_id),
    orderId: typeof order_id === 'string' ? order_id : null,
    method,
    createdAt: new Date(nowMs),
    expiresAt: new Date(nowMs + AUTHORIZATION_DAYS * DAY_MS),
    refundIds: [],
    refundedTransactionId: null,
    processorCode: verdict.processorCode ?? null,
    processorText: verdict.processorText ?? null,
    rejection: verdict.rejection ?? null,
    history: [],
    planted: {},
  }
  if (isRefusedByPayPal(sale, storage)) {
    return refuse(
      { ...sale, processorCode: '2046' },
      'processor_declined',
      'Declined',
      storage,
      nowMs,
    )
  }
  if (!isKeyed && isDuplicate(sale, storage)) {
    const rejected = { ...sale, rejection: 'duplicate' }
    return refuse(rejected, 'gateway_rejected', 'Gateway Rejected: duplicate', storage, nowMs)
  }
  enter(sale, verdict.status, nowMs)
  storage.transactions.set(sale.id, sale)
  if (verdict.status !== 'authorized') {
    const message = verdict.processorText ?? `Gateway Rejected: ${verdict.rejection}`
    return refusedTransaction(showTransaction(sale), message)
  }
  const entry = { kind: 'transaction.sale', id: sale.id, currency, order_id: sale.orderId } as const
  storage.append({ ...entry, amount: amountMinor }, nowMs)
  return transactionAnswer(sale, 201)
}

function refuse(
  sale: Transaction,
  status: Status,
  message: string,
  storage: Storage,
  nowMs: number,
): WireAnswer {
  enter(sale, status, nowMs)
  storage.transactions.set(sale.id, sale)
  return refusedTransaction(showTransaction(sale), message)
}

/** A nonce, or a stored method, whose token begins with the id of its customer. */
function methodOf({ payment_method_nonce: nonce, payment_method_token: token, ...body }: Body) {
  if (typeof token === 'string') {
    if (!token.startsWith(`${String(body['customer_id'])}_`)) throw invalid('91516')
    return token
  }
  if (nonce === 'fake-consumed-nonce') throw invalid('91564')
  if (nonce === 'fake-luhn-invalid-nonce') throw invalid('81715')
  if (typeof nonce !== 'string' || !verdicts.has(nonce)) throw invalid('91565')
  return nonce
}

type Body = Readonly<Record<string, unknown>>

/** Successful, in the words of the page on duplicate checking. */
const DUPLICATED: readonly Status[] = [
  'authorized',
  'submitted_for_settlement',
  'settling',
  'settled',
  'voided',
]

/** @see https://developer.paypal.com/braintree/articles/control-panel/transactions/duplicate-checking */
function isDuplicate(sale: Transaction, { transactions, settings }: Storage): boolean {
  const sinceMs = sale.createdAt.getTime() - settings.duplicate_seconds * 1_000
  return [...transactions.values()].some(
    (other) =>
      other.type === 'sale' &&
      other.createdAt.getTime() > sinceMs &&
      DUPLICATED.includes(other.status) &&
      other.amountMinor === sale.amountMinor &&
      other.currency === sale.currency &&
      other.orderId === sale.orderId &&
      cardOf(other.method) === cardOf(sale.method),
  )
}

/** The card behind a nonce, of which each is used once: its number and expiry are compared. */
const cardOf = (method: string): string => (VISA.includes(method) ? 'visa' : method)
const VISA = ['fake-valid-nonce', 'fake-valid-visa-nonce']

/** PayPal refuses an order id that was used before, however long ago. */
function isRefusedByPayPal(sale: Transaction, { transactions }: Storage): boolean {
  return (
    sale.method === PAYPAL &&
    [...transactions.values()].some(
      (other) =>
        other.method === PAYPAL &&
        other.orderId === sale.orderId &&
        other.type === 'sale' &&
        DUPLICATED.includes(other.status),
    )
  )
}
