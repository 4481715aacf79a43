// Finds the outcome of a call whose answer was lost: of an authorization by the order id of the transaction
// that it created, of another call on a payment by the state of its transaction. A sale names all of its
// refunds, so that the absence of a refund is proved without a search.
import type { Outcome, NotExecuted, Unknown } from '../../src/domain/operations/outcome.ts'
import type { Cancellation, Failure, Hold, Payment } from '../../src/domain/payments/payment.ts'
import type { Standing } from '../../src/domain/payments/standing.ts'
import {
  providerPaymentIdOf,
  unknown,
  type CallDescription,
} from '../../src/provider/call-outcomes.ts'
import type {
  CallRequest,
  Capture,
  Authorization,
  Trace,
} from '../../src/provider/payment-provider.ts'
import {
  confirmAdjustment,
  confirmCancel,
  confirmCapture,
  declined,
  isSaleOf,
  confirmAuthorization,
  explainRefusedTransaction,
  isDuplicate,
  confirmRefund,
  MISMATCH,
} from './answers.ts'
import { type Connection, within } from './connection.ts'
import { standingOf } from './standing.ts'
import {
  type Transaction,
  describeTransaction,
  readTransaction,
  isTransactionId,
} from './transaction.ts'
import { classifyBraintreeError, isMissing } from './errors.ts'
import type { Exchange } from './http/watched-agent.ts'
import { showOrderId } from './order-id.ts'
import { searchAll } from './searches.ts'
import type { RefundStanding } from '../../src/domain/payments/refund.ts'

export async function findCapture(
  connection: Connection,
  payment: Payment,
  amountMinor: number,
): Promise<Outcome<Capture>> {
  return await findChange(connection, payment, (transaction, standing, asked, answered) => {
    const value = confirmCapture(payment, amountMinor)(transaction)
    if (value !== undefined) return { outcome: 'done', value, asked, answered }
    if (standing?.status === 'held' && isWhole(payment, transaction)) {
      return notExecuted('it is still held', asked, answered)
    }
    if (standing?.status === 'canceled') {
      const { reason } = standing
      const refused = declined(PAYMENT_CANCELED, transaction, asked, answered)
      return { ...refused, canceled: { reason } }
    }
    const isOther = standing?.status === 'captured'
    const wrong = isOther ? 'captured with another amount' : transaction.status
    return unknown(asked, answered, `the payment is ${wrong}`)
  })
}

/** The adjustment has happened if the new amount is held, and has not if the previous one is. */
export async function findAdjustment(
  connection: Connection,
  { payment, amountMinor }: CallRequest<'adjust'>,
): Promise<Outcome<Hold>> {
  return await findChange(connection, payment, (transaction, standing, asked, answered) => {
    const value = confirmAdjustment(payment, amountMinor)(transaction)
    if (value !== undefined) return { outcome: 'done', value, asked, answered }
    if (standing?.status === 'held' && isWhole(payment, transaction)) {
      return notExecuted('the amount is as it was', asked, answered)
    }
    if (standing?.status === 'canceled') {
      const { reason } = standing
      const refused = declined(ADJUSTED_AFTER_CANCEL, transaction, asked, answered)
      return { ...refused, canceled: { reason } }
    }
    return unknown(asked, answered, FOUND_MISMATCH)
  })
}

/** Braintree does not store why a payment was canceled. */
export async function findCancel(
  connection: Connection,
  payment: Payment,
): Promise<Outcome<Cancellation>> {
  return await findChange(connection, payment, (transaction, standing, asked, answered) => {
    const value = confirmCancel(payment, null)(transaction)
    if (value !== undefined) return { outcome: 'done', value, asked, answered }
    if (standing?.status === 'held' && isWhole(payment, transaction)) {
      return notExecuted('it is not canceled', asked, answered)
    }
    if (standing?.status === 'captured') {
      return declined(PAYMENT_CAPTURED, transaction, asked, answered)
    }
    return unknown(asked, answered, `the payment is ${transaction.status}`)
  })
}

const isWhole = ({ amountMinor }: Payment, transaction: Transaction): boolean =>
  transaction.amountMinor === amountMinor

/** Reads the transaction of a payment that the provider already knows: its absence proves nothing. */
async function findChange<Value>(
  connection: Connection,
  payment: Payment,
  explain: (
    transaction: Transaction,
    standing: Standing | undefined,
    asked: CallDescription,
    answered: CallDescription,
  ) => Outcome<Value>,
): Promise<Outcome<Value>> {
  const id = providerPaymentIdOf(payment)
  const outcome = await lookAt(connection, id, (transaction, asked, answered) =>
    isSaleOf(payment, transaction) && transaction.id === id
      ? explain(transaction, standingOf(transaction), asked, answered)
      : unknown(asked, answered, FOUND_MISMATCH),
  )
  const missing = { asked: { call: 'transaction.find', transaction_id: id }, answered: {} }
  return outcome ?? unknown(missing.asked, { looked: false }, `there is no transaction ${id}`)
}

const PAYMENT_CANCELED: Failure = {
  code: '91507',
  declineCode: null,
  message: 'The payment was canceled at the provider and cannot be captured.',
}
const ADJUSTED_AFTER_CANCEL: Failure = {
  code: '915218',
  declineCode: null,
  message: 'The payment was canceled at the provider, and cannot be adjusted.',
}
const PAYMENT_CAPTURED: Failure = {
  code: '91504',
  declineCode: null,
  message: 'The payment was captured at the provider and cannot be canceled.',
}

const FOUND_MISMATCH = 'the transaction that was found does not match the request'

/** Undefined when there is no such transaction, or when `explain` says that it is not the one. */
async function lookAt<Value>(
  connection: Connection,
  id: string,
  explain: (
    transaction: Transaction,
    asked: CallDescription,
    answered: CallDescription,
  ) => Outcome<Value> | undefined,
): Promise<Outcome<Value> | undefined> {
  const asked = { call: 'transaction.find', transaction_id: id }
  const exchange: Exchange = {}
  try {
    const found = await within(connection, exchange, () => connection.gateway.transaction.find(id))
    const transaction = readTransaction(found)
    const answered = { status: exchange.status, ...describeTransaction(found) }
    if (transaction === undefined) return unknown(asked, answered, FOUND_MISMATCH)
    return explain(transaction, asked, answered)
  } catch (error) {
    return isMissing(error) ? undefined : unclear(error, exchange, asked)
  }
}

/** The outcome of a failed look-up: it proves nothing about the call. */
function unclear(error: unknown, exchange: Exchange, asked: CallDescription): Unknown {
  const failed = classifyBraintreeError(error, exchange, asked)
  return unknown(asked, { ...failed.answered, looked: false }, failed.reason)
}

function notExecuted(
  reason: string,
  asked: CallDescription,
  answered: CallDescription,
): NotExecuted {
  return { outcome: 'not_executed', reason, asked, answered }
}

export async function findAuthorization(
  connection: Connection,
  payment: Payment,
  trace: Trace,
): Promise<Outcome<Authorization>> {
  const { tenantId, id: paymentId } = payment
  const { operationId, providerPaymentId: named } = trace
  const orderId = showOrderId({ tenantId, paymentId, operationId, refundId: null })
  if (isTransactionId(named)) {
    const outcome = await lookAt(connection, named, (transaction, asked, answered) =>
      transaction.orderId === orderId && transaction.id === named
        ? explainAuthorization(payment, orderId, transaction, asked, answered)
        : undefined,
    )
    if (outcome !== undefined) return outcome
  }
  return await searchAuthorization(connection, payment, orderId, trace)
}

/**
 * A search may lag, so it proves absence only long after the latest time at which the call can have
 * been executed. Even then a mistake takes no money: nothing captures a hold that is not known.
 */
async function searchAuthorization(
  connection: Connection,
  payment: Payment,
  orderId: string,
  { executedTo }: Trace,
): Promise<Outcome<Authorization>> {
  const asked = { call: 'transaction.search', order_id: orderId }
  const settledMs = executedTo.getTime() + connection.searchLagMs
  const isSettled = connection.now() >= settledMs
  const exchange: Exchange = {}
  try {
    const found = await searchAll(connection, { orderId: { is: orderId } }, exchange)
    if (found === undefined) return unknown(asked, {}, 'the search has too many results')
    if (!found.every((transaction) => transaction.orderId === orderId)) {
      return unknown(asked, { found: idsOf(found) }, 'the search found other order ids')
    }
    const listed = found.length
    if (listed === 0) return explainAbsence(asked, isSettled)
    const [executed, ...others] = withoutRefused(found)
    if (executed === undefined || others.length > 0) {
      const reason = `${listed} transactions were found instead of one`
      return unknown(asked, { listed, found: idsOf(found) }, reason)
    }
    const answered = { listed, ...describeTransaction(executed.members) }
    return explainAuthorization(payment, orderId, executed, asked, answered)
  } catch (error) {
    return unclear(error, exchange, asked)
  }
}

function explainAbsence(asked: CallDescription, isSettled: boolean): NotExecuted | Unknown {
  if (!isSettled) return unknown(asked, { listed: 0 }, 'a search may not show the latest yet')
  return notExecuted('no transaction has the order id of this call', asked, { listed: 0 })
}

/**
 * What decides: the transactions that hold or may hold money; without any, the first that was refused
 * for another reason than as a duplicate.
 */
function withoutRefused(found: readonly Transaction[]): readonly Transaction[] {
  const live = found.filter((transaction) => standingOf(transaction)?.status !== 'refused')
  if (live.length > 0) return live
  return found.filter((transaction) => !isDuplicate(transaction)).slice(-1)
}

const IDS_SHOWN_MAX = 10
const idsOf = (found: readonly Transaction[]) => found.slice(0, IDS_SHOWN_MAX).map(({ id }) => id)

function explainAuthorization(
  payment: Payment,
  orderId: string,
  transaction: Transaction,
  asked: CallDescription,
  answered: CallDescription,
): Outcome<Authorization> {
  const value = confirmAuthorization(payment, orderId)(transaction)
  if (value !== undefined) return { outcome: 'done', value, asked, answered }
  const isAsked = transaction.amountMinor === payment.amountMinor
  if (!isSaleOf(payment, transaction) || !isAsked) return unknown(asked, answered, FOUND_MISMATCH)
  const standing = standingOf(transaction)
  if (standing?.status === 'refused') return explainRefusedTransaction(transaction, asked, answered)
  if (standing?.status === 'canceled') {
    return declined(AUTHORIZATION_CANCELED, transaction, asked, answered)
  }
  // Only this service captures its authorizations, and only after it knows of them.
  return unknown(asked, answered, `the authorization exists, but it is ${transaction.status}`)
}

const AUTHORIZATION_CANCELED: Failure = {
  code: 'canceled',
  declineCode: null,
  message: 'The authorization was canceled at the provider.',
}

export async function findRefund(
  connection: Connection,
  request: CallRequest<'refund'>,
  { operationId, providerRefundId: named }: Trace,
): Promise<Outcome<RefundStanding>> {
  const { tenantId, paymentId, id: refundId } = request.refund
  const orderId = showOrderId({ tenantId, paymentId, operationId, refundId })
  const saleId = providerPaymentIdOf(request.payment)
  if (isTransactionId(named)) {
    const outcome = await lookAt(connection, named, (transaction, asked, answered) =>
      transaction.orderId === orderId && transaction.id === named
        ? explainRefund(request, orderId, transaction, asked, answered)
        : undefined,
    )
    if (outcome !== undefined) return outcome
  }
  return await readRefundsOf(connection, request, orderId, saleId)
}

async function readRefundsOf(
  connection: Connection,
  request: CallRequest<'refund'>,
  orderId: string,
  saleId: string,
): Promise<Outcome<RefundStanding>> {
  const asked = { call: 'transaction.find', transaction_id: saleId, order_id: orderId }
  const exchange: Exchange = {}
  const find = async (id: string) =>
    readTransaction(
      await within(connection, exchange, () => connection.gateway.transaction.find(id)),
    )
  try {
    const sale = await find(saleId)
    const ids = sale && isSaleOf(request.payment, sale) ? refundIdsIn(sale) : undefined
    if (ids === undefined || sale?.id !== saleId) return unknown(asked, {}, MISMATCH)
    const found: Transaction[] = []
    for (const id of ids) {
      const refund = await find(id)
      if (refund?.id !== id) return unknown(asked, { listed: ids.length }, MISMATCH)
      if (refund.orderId === orderId) found.push(refund)
    }
    return explainFound(request, orderId, found, asked, ids.length)
  } catch (error) {
    return unclear(error, exchange, asked)
  }
}

function explainFound(
  request: CallRequest<'refund'>,
  orderId: string,
  [refund, ...others]: readonly Transaction[],
  asked: CallDescription,
  listed: number,
): Outcome<RefundStanding> {
  if (refund === undefined) {
    const reason = `none of the ${listed} refunds of the payment belongs to this call`
    return { outcome: 'not_executed', reason, asked, answered: { listed } }
  }
  if (others.length > 0) {
    const found = [refund, ...others].map(({ id }) => id)
    return unknown(asked, { listed, found }, `${found.length} refunds were found instead of one`)
  }
  const answered = { listed, ...describeTransaction(refund.members) }
  return explainRefund(request, orderId, refund, asked, answered)
}

function explainRefund(
  { payment, refund }: CallRequest<'refund'>,
  orderId: string,
  transaction: Transaction,
  asked: CallDescription,
  answered: CallDescription,
): Outcome<RefundStanding> {
  const value = confirmRefund(payment, refund, orderId)(transaction)
  return value === undefined
    ? unknown(asked, answered, MISMATCH)
    : { outcome: 'done', value, asked, answered }
}

/** A sale without a refund has an empty list. */
function refundIdsIn({ members: { refundIds } }: Transaction): readonly string[] | undefined {
  return Array.isArray(refundIds) && refundIds.every(isTransactionId) ? refundIds : undefined
}
