// POST /v1/payments/:id/adjust
import { findChargeProblem } from '../../domain/payments/currency.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { paymentEndpoint } from '../../http/resources/payment-endpoint.ts'
import { adjustPayment } from './phases.ts'
import { z } from 'zod'
import { chargeAmountField } from '../../http/requests/validate-body.ts'
import { heldPayment, paymentAnswer } from '../../http/resources/payment.ts'

const adjustPaymentBody = z.strictObject({
  amount: chargeAmountField.describe('The new amount to hold.'),
})

export const adjustPaymentEndpoint = paymentEndpoint({
  operation: adjustPayment,
  path: '/v1/payments/:id/adjust',
  contract: {
    operationId: 'adjustPayment',
    summary: 'Adjust the amount of a payment',
    description:
      'Changes the held amount of a payment before it is captured. If the provider declines, the payment still holds the previous amount. Stripe can only increase the amount, and only for eligible cards and merchants. To charge less, capture a smaller amount.',
    body: { schema: adjustPaymentBody.meta({ id: 'AdjustPayment' }), example: { amount: 2499 } },
    answers: {
      200: paymentAnswer('The payment with the new amount.', { ...heldPayment, amount: 2499 }),
    },
    problems: [
      'payment-declined',
      'authorization-expired',
      'invalid-state',
      'invalid-amount',
      'amount-too-small',
      'not-supported-by-provider',
    ],
  },
  parameters: ({ amount }) => ({ amount_minor: amount }),
  refuses: ({ amount }, { currency }, { amounts }) => findChargeProblem(amounts, amount, currency),
  // With equal amounts, a lookup at the provider could not show whether the call was executed.
  requires: (now, { amount_minor: amount }) => now.amountMinor !== amount,
  explain(now, { amount_minor: amount }) {
    if (amount !== now.amountMinor) return undefined
    return new ProblemError('invalid-amount', {
      errors: [{ pointer: '/amount', detail: 'The payment has this amount already.' }],
    })
  },
})
