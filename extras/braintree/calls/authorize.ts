// Holds the money of a payment. A lost call is found by the order id of the transaction that it created.
import type { NotExecuted, Outcome, Unknown } from '../../../src/domain/operations/outcome.ts'
import type { Failure, Payment } from '../../../src/domain/payments/payment.ts'
import { notExecuted, unknown, type CallDescription } from '../../../src/provider/call-outcomes.ts'
import type { Authorization, LookupCriteria } from '../../../src/provider/calls.ts'
import { showAmount } from '../amounts.ts'
import {
  type Confirm,
  declined,
  explainAnswer,
  explainRefusedTransaction,
  isDuplicate,
  isSaleOf,
} from '../answers.ts'
import { type Connection, toOutcome } from '../connection.ts'
import type { Exchange } from '../http/watched-agent.ts'
import { showOrderId } from '../order-id.ts'
import { searchAll } from '../searches.ts'
import { holdOf, providerStatusOf } from '../provider-status.ts'
import { describeTransaction, type Transaction } from '../transaction.ts'
import { type BraintreeCall, lookAt, FOUND_MISMATCH, keyOf, refuseAmount, unclear } from './call.ts'

export const authorize: BraintreeCall<'authorize'> = {
  async execute(connection, { payment }, { operationId, sendBeforeMs, providerKey }) {
    const { tenantId, id: paymentId, currency, amountMinor } = payment
    const orderId = showOrderId({ tenantId, paymentId, operationId, refundId: null })
    const amount = showAmount(amountMinor, currency)
    const asked = { call: 'transaction.sale', order_id: orderId, amount, currency }
    if (amount === undefined) return refuseAmount(asked)
    const merchantAccountId = connection.merchantAccounts.get(currency)
    if (merchantAccountId === undefined) return refuseCurrency(currency, asked)
    const sale = {
      amount,
      orderId,
      merchantAccountId,
      ...methodOf(payment),
      // A charge that its payer does not take part in.
      ...(payment.offSession === true && { transactionSource: 'unscheduled' }),
      ...keyOf(connection, providerKey),
      // Always only authorize: the capture is a separate phase.
      options: { submitForSettlement: false },
    }
    return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
      const answer = await connection.gateway.transaction.sale(sale)
      return explainAnswer(answer, exchange, asked, confirm(payment, orderId))
    })
  },
  async find(connection, { payment }, criteria) {
    const { tenantId, id: paymentId } = payment
    const { operationId, providerPaymentId: named } = criteria
    const orderId = showOrderId({ tenantId, paymentId, operationId, refundId: null })
    const outcome = await lookAt(connection, named, (transaction, asked, answered) =>
      transaction.orderId === orderId && transaction.id === named
        ? explainAuthorization(payment, orderId, transaction, asked, answered)
        : undefined,
    )
    return outcome ?? (await searchAuthorization(connection, payment, orderId, criteria))
  },
}

/**
 * A method that is stored belongs to a customer. Without one it is a nonce, which is used once: so a
 * request without a customer cannot use the stored card of another tenant.
 */
function methodOf({ paymentMethod, customer }: Payment) {
  return customer === null
    ? { paymentMethodNonce: paymentMethod }
    : { paymentMethodToken: paymentMethod, customerId: customer }
}

/** Without an account of the merchant in this currency, Braintree would charge another currency. */
function refuseCurrency(currency: string, asked: Readonly<Record<string, unknown>>) {
  const message = `The merchant has no account for payments in ${currency}.`
  const failure = { code: 'currency_not_supported', declineCode: null, message }
  return declined(failure, null, asked, { error: 'not sent' })
}

function confirm(payment: Payment, orderId: string): Confirm<Authorization> {
  return (transaction) => {
    const { id: providerPaymentId, status, amountMinor } = transaction
    const isAsked = isSaleOf(payment, transaction) && transaction.orderId === orderId
    const isHeld = status === 'authorized' && amountMinor === payment.amountMinor
    if (!isAsked || !isHeld) return undefined
    return { status: 'held', providerPaymentId, ...holdOf(transaction) }
  }
}

/**
 * A search may lag, so it proves absence only long after the latest time at which the call can have
 * been executed. Even then a mistake takes no money: nothing captures a hold that is not known.
 */
async function searchAuthorization(
  connection: Connection,
  payment: Payment,
  orderId: string,
  { executedTo }: LookupCriteria,
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
  const live = found.filter((transaction) => providerStatusOf(transaction)?.status !== 'refused')
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
  const value = confirm(payment, orderId)(transaction)
  if (value !== undefined) return { outcome: 'done', value, asked, answered }
  const isAsked = transaction.amountMinor === payment.amountMinor
  if (!isSaleOf(payment, transaction) || !isAsked) return unknown(asked, answered, FOUND_MISMATCH)
  const providerStatus = providerStatusOf(transaction)
  if (providerStatus?.status === 'refused')
    return explainRefusedTransaction(transaction, asked, answered)
  if (providerStatus?.status === 'canceled') {
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
