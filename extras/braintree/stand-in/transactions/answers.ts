// Answers a request with one transaction.
import type { WireAnswer } from '../../../../dev/stand-in/wire.ts'
import { refusedWith, XML } from '../requests/refusals.ts'
import { renderXml } from '../requests/xml.ts'
import type { Storage } from '../storage.ts'
import { showTransaction, type Transaction } from './transaction.ts'

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
