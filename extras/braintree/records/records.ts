// Reads Braintree's own payments and refunds for reconciliation. A malformed record is an error,
// because leaving it out would look like a difference.
import type {
  OnRepeat,
  ProviderPayment,
  ProviderRefund,
  Window,
} from '../../../src/provider/payment-provider.ts'
import { within, type Connection } from '../connection.ts'
import { isMissing } from '../errors.ts'
import {
  pagesOf,
  withRetries,
  readTransactions,
  RESULTS_MAX,
  searchIds,
  type Criteria,
} from '../searches.ts'
import { refundProviderStatusOf, providerStatusOf } from '../provider-status.ts'
import {
  authorizedMinor,
  isTransactionId,
  readTransaction,
  type Transaction,
} from '../transaction.ts'

export async function* listPayments(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const listing = { type: 'sale', field: 'createdAt', timeOf: createdAtOf } as const
  for await (const page of listTransactions(connection, listing, window, onRepeat)) {
    yield page.map(paymentIn)
  }
}

export async function* listRefunds(connection: Connection, window: Window, onRepeat?: OnRepeat) {
  const listing = { type: 'credit', field: 'createdAt', timeOf: createdAtOf } as const
  for await (const page of listTransactions(connection, listing, window, onRepeat)) {
    yield page.map(refundIn)
  }
}

export interface Listing {
  readonly type: Transaction['type']
  /** The time by which Braintree searches, and the same time of a transaction. */
  readonly field: 'createdAt' | 'submittedForSettlementAt' | 'settledAt'
  readonly timeOf: (transaction: Transaction) => Date | undefined
}

const createdAtOf = ({ createdAt }: Transaction) => createdAt

const MINUTE_MS = 60_000

/**
 * The transactions of a window, page by page. Braintree searches by the minute, and adds one to the
 * end, so each transaction is compared with the window, widened to whole seconds. A search with too
 * many results is made in two halves.
 */
export async function* listTransactions(
  connection: Connection,
  listing: Listing,
  { from, to }: Window,
  onRepeat?: OnRepeat,
): AsyncGenerator<readonly Transaction[]> {
  const { type, field, timeOf } = listing
  const read = withRetries(onRepeat)
  const criteria: Criteria = { type: [type], [field]: minutesOf(from, to) }
  const { ids, pageSize } = await searchIds(connection, criteria, read)
  if (ids.length >= RESULTS_MAX) {
    const middle = middleOf(from, to)
    yield* listTransactions(connection, listing, { from: middle, to }, onRepeat)
    yield* listTransactions(connection, listing, { from, to: middle }, onRepeat)
    return
  }
  const [fromMs, toMs] = [Math.floor(from.getTime() / 1_000), Math.ceil(to.getTime() / 1_000)]
  for (const page of pagesOf(ids, pageSize)) {
    const transactions = await readTransactions(connection, criteria, page, read)
    yield transactions.filter((transaction) => {
      const time = timeOf(transaction)
      if (time === undefined) throw new Error(`${transaction.id} has no time of its status`)
      const seconds = time.getTime() / 1_000
      return seconds >= fromMs && seconds < toMs
    })
  }
}

function minutesOf(from: Date, to: Date) {
  const min = new Date(Math.floor(from.getTime() / MINUTE_MS) * MINUTE_MS)
  return { min, max: new Date(Math.ceil(to.getTime() / MINUTE_MS) * MINUTE_MS) }
}

/** @throws Error when the window cannot be halved any more. */
function middleOf(from: Date, to: Date): Date {
  const middleMs = Math.floor((from.getTime() + to.getTime()) / 2 / MINUTE_MS) * MINUTE_MS
  if (middleMs <= from.getTime() || middleMs >= to.getTime()) {
    throw new Error('one minute has more transactions than a search shows')
  }
  return new Date(middleMs)
}

export async function readPayment(
  connection: Connection,
  id: string,
): Promise<ProviderPayment | undefined> {
  const transaction = await readById(connection, id, 'sale')
  return transaction && paymentIn(transaction)
}

export async function readRefund(
  connection: Connection,
  id: string,
): Promise<ProviderRefund | undefined> {
  const transaction = await readById(connection, id, 'credit')
  return transaction && refundIn(transaction)
}

/** @throws Error when the answer is about another transaction. */
async function readById(
  connection: Connection,
  id: string,
  type: Transaction['type'],
): Promise<Transaction | undefined> {
  const found = await readIfThere(connection, () => connection.gateway.transaction.find(id))
  if (found === undefined) return undefined
  const transaction = readTransaction(found.value)
  if (transaction?.id !== id || transaction.type !== type) {
    throw new Error(`the answer is not about ${isTransactionId(id) ? id : 'the record'}`)
  }
  return transaction
}

export async function readIfThere(
  connection: Connection,
  read: () => Promise<unknown>,
): Promise<{ readonly value: unknown } | undefined> {
  try {
    return { value: await within(connection, {}, read) }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function paymentIn(transaction: Transaction): ProviderPayment {
  const { id: providerPaymentId, currency, createdAt, correlation } = transaction
  const amountMinor = authorizedMinor(transaction)
  const providerStatus = providerStatusOf(transaction)
  return { providerPaymentId, amountMinor, currency, providerStatus, createdAt, correlation }
}

/** A credit without a sale is money that another client has sent. */
function refundIn(transaction: Transaction): ProviderRefund {
  const { id: providerRefundId, amountMinor, currency, createdAt, correlation } = transaction
  const { refundedTransactionId: saleId } = transaction.members
  const providerPaymentId = isTransactionId(saleId) ? saleId : null
  const providerStatus = refundProviderStatusOf(transaction)
  return {
    providerRefundId,
    providerPaymentId,
    amountMinor,
    currency,
    providerStatus,
    createdAt,
    correlation,
  }
}
