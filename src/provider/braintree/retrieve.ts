// Reads where a payment or refund stands. Reading executes nothing, so after any other answer, or none,
// it can be repeated.
import type { Done, NotExecuted, Outcome } from '../../domain/operations/outcome.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import type { Refund } from '../../domain/payments/refund.ts'
import type { RefundStanding } from '../../domain/payments/refund-standing.ts'
import type { Standing } from '../../domain/payments/standing.ts'
import { asLook, providerPaymentIdOf, unknown } from '../call-outcomes.ts'
import { isSaleOf } from './answers.ts'
import { toOutcome, type Connection } from './connection.ts'
import { refundStandingOf, standingOf } from './standing.ts'
import { describeTransaction, readTransaction, type Transaction } from './transaction.ts'

export async function retrievePayment(
  connection: Connection,
  payment: Payment,
): Promise<Done<Standing> | NotExecuted> {
  return await look(connection, providerPaymentIdOf(payment), (transaction) => {
    const standing = isSaleOf(payment, transaction) ? standingOf(transaction) : undefined
    const fits =
      standing?.status === 'held'
        ? transaction.amountMinor === payment.amountMinor
        : transaction.amountMinor <= payment.amountMinor
    return fits ? standing : undefined
  })
}

export async function retrieveRefund(
  connection: Connection,
  refund: Refund,
): Promise<Done<RefundStanding> | NotExecuted> {
  const { providerRefundId: id, amountMinor, currency } = refund
  if (id === null) throw new Error(`refund ${refund.id} has no id at the provider`)
  return await look(connection, id, (transaction) => {
    const isIt = transaction.amountMinor === amountMinor && transaction.currency === currency
    return isIt && transaction.correlation?.refundId === refund.id
      ? refundStandingOf(transaction)
      : undefined
  })
}

async function look<Value>(
  connection: Connection,
  id: string,
  valueOf: (transaction: Transaction) => Value | undefined,
): Promise<Done<Value> | NotExecuted> {
  const asked = { call: 'transaction.find', transaction_id: id }
  const looked = await toOutcome(connection, asked, async (exchange): Promise<Outcome<Value>> => {
    const found = await connection.gateway.transaction.find(id)
    const answered = { status: exchange.status, ...describeTransaction(found) }
    const transaction = readTransaction(found)
    const value = transaction?.id === id ? valueOf(transaction) : undefined
    return value === undefined
      ? unknown(asked, answered, 'the answer is implausible')
      : { outcome: 'done', value, asked, answered }
  })
  return asLook(looked)
}
