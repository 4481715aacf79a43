// What openapi.yaml says of POST /v1/payments/:id/adjust, and the schema that checks its body.
import { z } from 'zod'
import type { KeyedContract } from '../../http/keyed/keyed-endpoint.ts'
import { acceptedPayment, paymentAnswer, paymentInPath } from '../../http/payments/contract.ts'
import { amountField } from '../../http/requests/body-fields.ts'

export const adjustPaymentBody = z.strictObject({
  amount: amountField.describe('The new total to hold, in minor units.'),
})

export const adjustPaymentContract: KeyedContract = {
  operationId: 'adjustPayment',
  tag: 'Payments',
  summary: 'Change the amount that a payment holds',
  description:
    'Asks the card network to hold another total before the payment is captured. When it declines, the payment still holds the previous amount. Stripe raises the amount only, for cards and merchants that are eligible; to take less, capture less.',
  path: paymentInPath,
  keyed: 'foreign',
  body: { schema: adjustPaymentBody.meta({ id: 'AdjustPayment' }), example: { amount: 2499 } },
  answers: { 200: paymentAnswer('The payment, with its new amount held.'), 202: acceptedPayment },
  problems: ['payment-declined', 'invalid-state', 'invalid-amount'],
}
