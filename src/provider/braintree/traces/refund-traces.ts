// Finds the outcome of a refund whose answer was lost. The sale names all of its refunds, and each is
// read by its id, so no search is needed, and the absence of a refund is proved.
import type { Outcome } from '../../../domain/operations/outcome.ts'
import type { RefundStanding } from '../../../domain/payments/refund-standing.ts'
import { providerPaymentIdOf, unknown, type CallDescription } from '../../call-outcomes.ts'
import type { CallRequest, Trace } from '../../payment-provider.ts'
import { confirmRefund, isSaleOf, MISMATCH } from '../answers.ts'
import { within, type Connection } from '../connection.ts'
import type { Exchange } from '../http/watched-agent.ts'
import { showOrderId } from '../order-id.ts'
import { lookAt, unclear } from './look-ups.ts'
import {
  describeTransaction,
  isTransactionId,
  readTransaction,
  type Transaction,
} from '../transaction.ts'

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
