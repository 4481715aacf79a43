// Ends a payment, and releases what it holds.
import type {
  Cancellation,
  CancellationReason,
  Failure,
  Payment,
} from '../../../src/domain/payments/payment.ts'
import { notExecuted, providerPaymentIdOf, unknown } from '../../../src/provider/call-outcomes.ts'
import { type Confirm, declined, explainAnswer } from '../answers.ts'
import { toOutcome } from '../connection.ts'
import { providerStatusOf } from '../provider-status.ts'
import { type BraintreeCall, findChange, isUsedBy, keyOf } from './call.ts'

/**
 * A void also undoes a capture that is not being settled yet. Then nothing is captured, so the payment
 * is canceled.
 *
 * @see https://developer.paypal.com/braintree/docs/reference/request/transaction/void/node
 */
export const cancel: BraintreeCall<'cancel'> = {
  async execute(connection, { payment, reason = null }, { sendBeforeMs, providerKey }) {
    const id = providerPaymentIdOf(payment)
    const asked = { call: 'transaction.void', transaction_id: id }
    return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
      const answer = await connection.gateway.transaction.void(id, keyOf(connection, providerKey))
      const isCanceled = confirm(payment, reason as CancellationReason | null)
      return explainAnswer(answer, exchange, asked, isCanceled)
    })
  },
  /** Braintree does not store why a payment was canceled. */
  async find(connection, { payment }) {
    return await findChange(connection, payment, (transaction, providerStatus, asked, answered) => {
      const value = confirm(payment, null)(transaction)
      if (value !== undefined) return { outcome: 'done', value, asked, answered }
      if (providerStatus?.status === 'held')
        return notExecuted('it is not canceled', asked, answered)
      if (providerStatus?.status === 'captured') {
        return declined(PAYMENT_CAPTURED, transaction, asked, answered)
      }
      return unknown(asked, answered, `the payment is ${transaction.status}`)
    })
  },
}

const PAYMENT_CAPTURED: Failure = {
  code: '91504',
  declineCode: null,
  message: 'The payment was captured at the provider and cannot be canceled.',
}

/** @param reason of the cancellation; Braintree stores none. */
function confirm(payment: Payment, reason: Cancellation['reason']): Confirm<Cancellation> {
  return (transaction) => {
    const providerStatus = isUsedBy(payment, transaction)
      ? providerStatusOf(transaction)
      : undefined
    if (providerStatus?.status !== 'canceled') return undefined
    return { reason: providerStatus.reason ?? reason }
  }
}
