// The calls that move money at Braintree. Each makes one request. Only some accounts have keys: what
// tells one call from another is the order id of the transaction that it creates, or the state of the
// one that it changes.
import type { NotExecuted, Outcome } from '../../src/domain/operations/outcome.ts'
import type {
  Cancellation,
  CancellationReason,
  Hold,
  Payment,
} from '../../src/domain/payments/payment.ts'
import type { RefundStanding } from '../../src/domain/payments/refund.ts'
import { asLook, providerPaymentIdOf, unknown } from '../../src/provider/call-outcomes.ts'
import type {
  Authorization,
  CallIdentity,
  CallRequest,
  Capture,
} from '../../src/provider/payment-provider.ts'
import { showAmount } from './amounts.ts'
import {
  confirmAdjustment,
  confirmAuthorization,
  confirmCancel,
  confirmCapture,
  confirmRefund,
  declined,
  explainAnswer,
  MISMATCH,
} from './answers.ts'
import { toOutcome, type Connection } from './connection.ts'
import { showOrderId } from './order-id.ts'
import { describeTransaction, readTransaction } from './transaction.ts'

export async function authorizePayment(
  connection: Connection,
  payment: Payment,
  { operationId, sendBeforeMs, providerKey }: CallIdentity,
): Promise<Outcome<Authorization>> {
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
    return explainAnswer(answer, exchange, asked, confirmAuthorization(payment, orderId))
  })
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

/** An adjustment takes no key. An account without keys refuses a call that has one. */
function keyOf({ sendsKeys }: Connection, providerKey: string) {
  return sendsKeys ? { apiRequestKey: providerKey } : {}
}

/** Without an account of the merchant in this currency, Braintree would charge another currency. */
function refuseCurrency(currency: string, asked: Readonly<Record<string, unknown>>) {
  const message = `The merchant has no account for payments in ${currency}.`
  const failure = { code: 'currency_not_supported', declineCode: null, message }
  return declined(failure, null, asked, { error: 'not sent' })
}

/** The service accepts no such amount. If one comes here nevertheless, it is not rounded. */
function refuseAmount(asked: Readonly<Record<string, unknown>>) {
  const message = 'Braintree cannot express this amount in the currency.'
  const failure = { code: 'amount_not_supported', declineCode: null, message }
  return declined(failure, null, asked, { error: 'not sent' })
}

/** @see https://developer.paypal.com/braintree/docs/reference/request/transaction/submit-for-settlement/node */
export async function capturePayment(
  connection: Connection,
  { payment, amountMinor = payment.amountMinor }: CallRequest<'capture'>,
  { sendBeforeMs, providerKey }: CallIdentity,
): Promise<Outcome<Capture>> {
  const id = providerPaymentIdOf(payment)
  const amount = showAmount(amountMinor, payment.currency)
  const asked = { call: 'transaction.submitForSettlement', transaction_id: id, amount }
  if (amount === undefined) return refuseAmount(asked)
  return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
    const options = keyOf(connection, providerKey)
    const answer = await connection.gateway.transaction.submitForSettlement(id, amount, options)
    return explainAnswer(answer, exchange, asked, confirmCapture(payment, amountMinor))
  })
}

/** @see https://developer.paypal.com/braintree/docs/reference/request/transaction/adjust-authorization/node */
export async function adjustAuthorization(
  connection: Connection,
  { payment, amountMinor }: CallRequest<'adjust'>,
  { sendBeforeMs }: CallIdentity,
): Promise<Outcome<Hold>> {
  const id = providerPaymentIdOf(payment)
  const amount = showAmount(amountMinor, payment.currency)
  const asked = { call: 'transaction.adjustAuthorization', transaction_id: id, amount }
  if (amount === undefined) return refuseAmount(asked)
  return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
    const answer = await connection.gateway.transaction.adjustAuthorization(id, amount)
    return explainAnswer(answer, exchange, asked, confirmAdjustment(payment, amountMinor))
  })
}

/**
 * A void also undoes a capture that is not being settled yet. Then nothing is captured, so the payment
 * is canceled.
 *
 * @see https://developer.paypal.com/braintree/docs/reference/request/transaction/void/node
 */
export async function cancelPayment(
  connection: Connection,
  { payment, reason = null }: CallRequest<'cancel'>,
  { sendBeforeMs, providerKey }: CallIdentity,
): Promise<Outcome<Cancellation>> {
  const id = providerPaymentIdOf(payment)
  const asked = { call: 'transaction.void', transaction_id: id }
  return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
    const answer = await connection.gateway.transaction.void(id, keyOf(connection, providerKey))
    const confirm = confirmCancel(payment, reason as CancellationReason | null)
    return explainAnswer(answer, exchange, asked, confirm)
  })
}

/** @see https://developer.paypal.com/braintree/docs/reference/request/transaction/refund/node */
export async function refundPayment(
  connection: Connection,
  { payment, refund }: CallRequest<'refund'>,
  { operationId, sendBeforeMs, providerKey }: CallIdentity,
): Promise<Outcome<RefundStanding>> {
  const id = providerPaymentIdOf(payment)
  const { tenantId, paymentId, id: refundId, currency, amountMinor } = refund
  const orderId = showOrderId({ tenantId, paymentId, operationId, refundId })
  const amount = showAmount(amountMinor, currency)
  const asked = { call: 'transaction.refund', transaction_id: id, order_id: orderId, amount }
  if (amount === undefined) return refuseAmount(asked)
  const waits = connection.sendsKeys ? await waitForSettlement(connection, id) : undefined
  if (waits !== undefined) return waits
  return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
    const options = { amount, orderId, ...keyOf(connection, providerKey) }
    const answer = await connection.gateway.transaction.refund(id, options)
    return explainAnswer(answer, exchange, asked, confirmRefund(payment, refund, orderId))
  })
}

const REFUNDABLE: ReadonlySet<string> = new Set(['settling', 'settled'])

/**
 * A refund that comes too early is refused (91506), and its key could not be used again (915234). So
 * with keys the sale is read first. Undefined when it can be refunded.
 */
async function waitForSettlement(
  connection: Connection,
  id: string,
): Promise<NotExecuted | undefined> {
  const asked = { call: 'transaction.find', transaction_id: id }
  const looked = await toOutcome(connection, asked, async (exchange): Promise<Outcome<string>> => {
    const found = await connection.gateway.transaction.find(id)
    const answered = { status: exchange.status, ...describeTransaction(found) }
    const value = readTransaction(found)?.status
    return value === undefined
      ? unknown(asked, answered, MISMATCH)
      : { outcome: 'done', value, asked, answered }
  })
  const outcome = asLook(looked)
  if (outcome.outcome === 'not_executed') return outcome
  if (REFUNDABLE.has(outcome.value)) return undefined
  const reason = `the sale is ${outcome.value}, and not settled yet`
  const waits = { aboutObject: true, asksToWait: true } as const
  return { outcome: 'not_executed', reason, ...waits, asked, answered: outcome.answered }
}
