// Looks at one transaction, to find the outcome of a call whose answer was lost.
import type { NotExecuted, Outcome, Unknown } from '../../../domain/operations/outcome.ts'
import { unknown, type CallDescription } from '../../call-outcomes.ts'
import { within, type Connection } from '../connection.ts'
import { classifyBraintreeError, isMissing } from '../errors.ts'
import type { Exchange } from '../http/watched-agent.ts'
import { describeTransaction, readTransaction, type Transaction } from '../transaction.ts'

export const FOUND_MISMATCH = 'the transaction that was found does not match the request'

/** Undefined when there is no such transaction, or when `explain` says that it is not the one. */
export async function lookAt<Value>(
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
export function unclear(error: unknown, exchange: Exchange, asked: CallDescription): Unknown {
  const failed = classifyBraintreeError(error, exchange, asked)
  return unknown(asked, { ...failed.answered, looked: false }, failed.reason)
}

export function notExecuted(
  reason: string,
  asked: CallDescription,
  answered: CallDescription,
): NotExecuted {
  return { outcome: 'not_executed', reason, asked, answered }
}
