// Changes the held amount of a payment before it is captured.
import type { Hold, Payment } from '../../../src/domain/payments/payment.ts'
import { explainNotShown, providerPaymentIdOf } from '../../../src/provider/call-outcomes.ts'
import { showAmount } from '../amounts.ts'
import { type Confirm, explainAnswer } from '../answers.ts'
import { toOutcome } from '../connection.ts'
import { holdOf } from '../provider-status.ts'
import { type BraintreeCall, findChange, FOUND_MISMATCH, isUsedBy, refuseAmount } from './call.ts'

/**
 * @see
 * https://developer.paypal.com/braintree/docs/reference/request/transaction/adjust-authorization/node
 */
export const adjust: BraintreeCall<'adjust'> = {
  async execute(connection, { payment, amountMinor }, { sendBeforeMs }) {
    const id = providerPaymentIdOf(payment)
    const amount = showAmount(amountMinor, payment.currency)
    const asked = { call: 'transaction.adjustAuthorization', transaction_id: id, amount }
    if (amount === undefined) return refuseAmount(asked)
    return await toOutcome({ ...connection, sendBeforeMs }, asked, async (exchange) => {
      const answer = await connection.gateway.transaction.adjustAuthorization(id, amount)
      return explainAnswer(answer, exchange, asked, confirm(payment, amountMinor))
    })
  },
  /** It has happened if the new amount is held, and has not if the previous one is. */
  async find(connection, { payment, amountMinor }) {
    return await findChange(connection, payment, (transaction, providerStatus, asked, answered) => {
      const value = confirm(payment, amountMinor)(transaction)
      if (value !== undefined) return { outcome: 'done', value, asked, answered }
      return explainNotShown(payment, providerStatus, asked, answered, {
        held: 'the amount is as it was',
        canceled: {
          code: '915218',
          declineCode: null,
          message: 'The payment was canceled at the provider, and cannot be adjusted.',
        },
        other: FOUND_MISMATCH,
      })
    })
  },
}

function confirm(payment: Payment, amountMinor: number): Confirm<Hold> {
  return (transaction) => {
    const isHeld = transaction.status === 'authorized' && transaction.amountMinor === amountMinor
    return isUsedBy(payment, transaction) && isHeld ? holdOf(transaction) : undefined
  }
}
