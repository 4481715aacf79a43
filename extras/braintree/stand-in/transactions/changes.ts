// Changes a transaction: captures, adjusts, voids, refunds and settles it, as its status allows.
import type { WireAnswer } from '../../../../dev/stand-in/wire.ts'
import { invalid, refusedWith, XML } from '../requests/refusals.ts'
import { renderXml } from '../requests/xml.ts'
import { newId, type Endpoint, type Storage } from '../storage.ts'
import { requireAmount } from './amounts.ts'
import { enter, showTransaction, type Status, type Transaction } from './transaction.ts'

export const retrieveTransaction: Endpoint = ({ id }, storage) =>
  transactionAnswer(findTransaction(storage, id))

/** A smaller amount becomes the amount of the transaction. The rest is not captured later. */
export const submitForSettlement: Endpoint = ({ id, body, nowMs }, storage) => {
  const sale = findTransaction(storage, id)
  const { currency } = sale
  if (sale.status !== 'authorized') throw invalid('91507')
  const amount =
    body['amount'] === undefined ? sale.amountMinor : requireAmount(body['amount'], currency)
  if (amount > sale.amountMinor) throw invalid('91522')
  sale.amountMinor = amount
  enter(sale, 'submitted_for_settlement', nowMs)
  const kind = 'transaction.submit_for_settlement'
  storage.append({ kind, id, amount, currency, order_id: sale.orderId }, nowMs)
  return transactionAnswer(sale)
}

/** From this amount on, the sandbox declines. */
const DECLINED_FROM_MINOR = 200_000

export const adjustAuthorization: Endpoint = ({ id, body, nowMs }, storage) => {
  const sale = findTransaction(storage, id)
  const { currency } = sale
  if (sale.status !== 'authorized') throw invalid('915218', showTransaction(sale))
  const amount = requireAmount(body['amount'], currency, showTransaction(sale))
  if (amount === sale.amountMinor) throw invalid('95606', showTransaction(sale))
  if (amount >= DECLINED_FROM_MINOR) throw invalid('95602', showTransaction(sale))
  sale.amountMinor = amount
  enter(sale, 'authorized', nowMs)
  const kind = 'transaction.adjust_authorization'
  storage.append({ kind, id, amount, currency, order_id: sale.orderId }, nowMs)
  return transactionAnswer(sale)
}

const VOIDABLE: readonly Status[] = ['authorized', 'submitted_for_settlement', 'settlement_pending']

export const voidTransaction: Endpoint = ({ id, nowMs }, storage) => {
  const transaction = findTransaction(storage, id)
  if (!VOIDABLE.includes(transaction.status)) throw invalid('91504')
  enter(transaction, 'voided', nowMs)
  const { amountMinor: amount, currency, orderId } = transaction
  const kind = 'transaction.void'
  storage.append({ kind, id, amount, currency, order_id: orderId }, nowMs)
  return transactionAnswer(transaction)
}

export const refundTransaction: Endpoint = ({ id, body, nowMs }, storage) => {
  const sale = findTransaction(storage, id)
  const { currency } = sale
  if (sale.status !== 'settled' && sale.status !== 'settling') throw invalid('91506')
  const refunds = sale.refundIds.map((refundId) => findTransaction(storage, refundId))
  const left = refunds
    .filter(({ status }) => !['voided', 'settlement_declined'].includes(status))
    .reduce((rest, refund) => rest - refund.amountMinor, sale.amountMinor)
  if (left === 0) throw invalid('91512')
  const amount = body['amount'] === undefined ? left : requireAmount(body['amount'], currency)
  if (amount > left) throw invalid('91521')
  const { order_id } = body
  const credit: Transaction = {
    ...sale,
    id: newId(),
    type: 'credit',
    amountMinor: amount,
    orderId: typeof order_id === 'string' ? order_id : sale.orderId,
    createdAt: new Date(nowMs),
    expiresAt: null,
    refundIds: [],
    refundedTransactionId: sale.id,
    history: [],
    planted: {},
  }
  enter(credit, 'submitted_for_settlement', nowMs)
  storage.transactions.set(credit.id, credit)
  sale.refundIds.push(credit.id)
  const kind = 'transaction.refund'
  storage.append({ kind, id: credit.id, amount, currency, order_id: credit.orderId }, nowMs)
  return transactionAnswer(credit, 201)
}

/** Only the sandbox settles on request. */
export const settleTransaction: Endpoint = ({ id, nowMs }, storage) => {
  const transaction = findTransaction(storage, id)
  enter(transaction, 'settling', nowMs)
  enter(transaction, 'settled', nowMs)
  return transactionAnswer(transaction)
}

export function transactionAnswer(transaction: Transaction, status = 200): WireAnswer {
  const body = renderXml('transaction', showTransaction(transaction))
  return { status, body, contentType: XML }
}

/** @throws Refusal 404 when there is none with this id. */
export function findTransaction({ transactions }: Storage, id: string): Transaction {
  const transaction = transactions.get(id)
  if (transaction === undefined) throw refusedWith(404)
  return transaction
}
