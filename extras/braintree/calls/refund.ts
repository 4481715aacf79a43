// Returns money of a captured payment. A sale names all of its refunds, so that the absence of a refund is
// proved without a search.
import type { NotExecuted, Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { Refund, RefundProviderStatus } from '../../../src/domain/payments/refund.ts'
import {
  asRead,
  confirmed,
  providerPaymentIdOf,
  unknown,
  type CallDescription,
} from '../../../src/provider/call-outcomes.ts'
import type { CallRequest } from '../../../src/provider/calls.ts'
import { showAmount } from '../amounts.ts'
import { type Confirm, explainAnswer, isSaleOf, MISMATCH } from '../answers.ts'
import { type Connection, toOutcome, within } from '../connection.ts'
import type { Exchange } from '../http/watched-agent.ts'
import { showOrderId } from '../order-id.ts'
import { refundProviderStatusOf } from '../provider-status.ts'
import {
  describeTransaction,
  isTransactionId,
  readTransaction,
  type Transaction,
} from '../transaction.ts'
import { type BraintreeCall, keyOf, lookAt, refuseAmount, unclear } from './call.ts'

/** @see https://developer.paypal.com/braintree/docs/reference/request/transaction/refund/node */
export const refundPayment: BraintreeCall<'refund'> = {
  async execute(connection, request, { operationId, sendBeforeMs, providerKey }) {
    const { payment, refund } = request
    const id = providerPaymentIdOf(payment)
    const { tenantId, paymentId, id: refundId, currency, amountMinor } = refund
    const orderId = showOrderId({ tenantId, paymentId, operationId, refundId })
    const amount = showAmount(amountMinor, currency)
    const asked = { call: 'transaction.refund', transaction_id: id, order_id: orderId, amount }
    if (amount === undefined) return refuseAmount(asked)
    const inTime = { ...connection, sendBeforeMs }
    const waits = connection.sendsKeys ? await waitForSettlement(inTime, id) : undefined
    if (waits !== undefined) return waits
    return await toOutcome(inTime, asked, async (exchange) => {
      const options = { amount, orderId, ...keyOf(connection, providerKey) }
      const answer = await connection.gateway.transaction.refund(id, options)
      return explainAnswer(answer, exchange, asked, confirm(payment, refund, orderId))
    })
  },
  async find(connection, request, { operationId, providerRefundId: named }) {
    const { tenantId, paymentId, id: refundId } = request.refund
    const orderId = showOrderId({ tenantId, paymentId, operationId, refundId })
    const saleId = providerPaymentIdOf(request.payment)
    const outcome = await lookAt(connection, named, (transaction, asked, answered) =>
      transaction.orderId === orderId && transaction.id === named
        ? explainRefund(request, orderId, transaction, asked, answered)
        : undefined,
    )
    return outcome ?? (await readRefundsOf(connection, request, orderId, saleId))
  },
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
    return confirmed(readTransaction(found)?.status, asked, answered, MISMATCH)
  })
  const outcome = asRead(looked)
  if (outcome.outcome === 'not_executed') return outcome
  if (REFUNDABLE.has(outcome.value)) return undefined
  const reason = `the sale is ${outcome.value}, and not settled yet`
  const waits = { aboutObject: true, retryLater: true } as const
  return { outcome: 'not_executed', reason, ...waits, asked, answered: outcome.answered }
}

async function readRefundsOf(
  connection: Connection,
  request: CallRequest<'refund'>,
  orderId: string,
  saleId: string,
): Promise<Outcome<RefundProviderStatus>> {
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
): Outcome<RefundProviderStatus> {
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
): Outcome<RefundProviderStatus> {
  return confirmed(confirm(payment, refund, orderId)(transaction), asked, answered, MISMATCH)
}

/** A sale without a refund has an empty list. */
function refundIdsIn({ members: { refundIds } }: Transaction): readonly string[] | undefined {
  return Array.isArray(refundIds) && refundIds.every(isTransactionId) ? refundIds : undefined
}

function confirm(payment: Payment, refund: Refund, orderId: string): Confirm<RefundProviderStatus> {
  return (transaction) => {
    const { amountMinor, currency, members } = transaction
    const isAsked =
      transaction.orderId === orderId &&
      members['refundedTransactionId'] === payment.providerPaymentId &&
      amountMinor === refund.amountMinor &&
      currency === refund.currency
    return isAsked ? refundProviderStatusOf(transaction) : undefined
  }
}
