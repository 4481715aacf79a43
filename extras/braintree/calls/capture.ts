// Captures the held money of a payment, or a part of it.
import type { Payment } from '../../../src/domain/payments/payment.ts'
import { explainNotShown, providerPaymentIdOf } from '../../../src/provider/call-outcomes.ts'
import type { Capture } from '../../../src/provider/calls.ts'
import { showAmount } from '../amounts.ts'
import { type Confirm, explainAnswer } from '../answers.ts'
import { toOutcome } from '../connection.ts'
import { CAPTURED } from '../provider-status.ts'
import { type BraintreeCall, findChange, isUsedBy, keyOf, refuseAmount } from './call.ts'

/**
 * @see
 * https://developer.paypal.com/braintree/docs/reference/request/transaction/submit-for-settlement/node
 */
export const capture: BraintreeCall<'capture'> = {
  async execute(connection, { payment, amountMinor = payment.amountMinor }, identity) {
    const { sendBeforeMs, providerKey } = identity
    const id = providerPaymentIdOf(payment)
    const amount = showAmount(amountMinor, payment.currency)
    const asked = { call: 'transaction.submitForSettlement', transaction_id: id, amount }
    if (amount === undefined) return refuseAmount(asked)
    return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
      const options = keyOf(connection, providerKey)
      const answer = await connection.gateway.transaction.submitForSettlement(id, amount, options)
      return explainAnswer(answer, exchange, asked, confirm(payment, amountMinor))
    })
  },
  async find(connection, { payment, amountMinor = payment.amountMinor }) {
    return await findChange(connection, payment, (transaction, providerStatus, asked, answered) => {
      const value = confirm(payment, amountMinor)(transaction)
      if (value !== undefined) return { outcome: 'done', value, asked, answered }
      const isOther = providerStatus?.status === 'captured'
      return explainNotShown(payment, providerStatus, asked, answered, {
        held: 'it is still held',
        canceled: {
          code: '91507',
          declineCode: null,
          message: 'The payment was canceled at the provider and cannot be captured.',
        },
        other: `the payment is ${isOther ? 'captured with another amount' : transaction.status}`,
      })
    })
  },
}

/** Braintree answers a capture with the captured amount. */
function confirm(payment: Payment, amountMinor: number): Confirm<Capture> {
  return (transaction) => {
    const isCaptured = CAPTURED.has(transaction.status) && transaction.amountMinor === amountMinor
    return isUsedBy(payment, transaction) && isCaptured
      ? { amountCapturedMinor: amountMinor }
      : undefined
  }
}
