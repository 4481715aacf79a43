// Finds the outcome of a call that changed a payment, and whose answer was lost: by the state of its
// transaction.
import type { Outcome } from '../../../domain/operations/outcome.ts'
import type { Cancellation, Failure, Hold, Payment } from '../../../domain/payments/payment.ts'
import type { Standing } from '../../../domain/payments/standing.ts'
import { providerPaymentIdOf, unknown, type CallDescription } from '../../call-outcomes.ts'
import type { CallRequest, Capture } from '../../payment-provider.ts'
import { confirmAdjustment, confirmCancel, confirmCapture, declined, isSaleOf } from '../answers.ts'
import type { Connection } from '../connection.ts'
import { standingOf } from '../standing.ts'
import type { Transaction } from '../transaction.ts'
import { FOUND_MISMATCH, lookAt, notExecuted } from './look-ups.ts'

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
