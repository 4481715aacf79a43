// The contract of POST /v1/payments/:id/adjust, and the schema of its body.
import { z } from 'zod'
import type { KeyedContract } from '../../http/keyed/keyed-route.ts'
import { chargeAmountField } from '../../http/resources/amount-fields.ts'
import {
  acceptedPayment,
  heldPayment,
  paymentAnswer,
  paymentInPath,
} from '../../http/resources/payment.ts'

export const adjustPaymentBody = z.strictObject({
  amount: chargeAmountField('The new amount to hold.'),
})

export const adjustPaymentContract: KeyedContract = {
  operationId: 'adjustPayment',
  tag: 'Payments',
  summary: 'Adjust the amount of a payment',
  description:
    'Changes the held amount of a payment before it is captured. If the provider declines, the payment still holds the previous amount. Stripe can only increase the amount, and only for eligible cards and merchants. To charge less, capture a smaller amount.',
  path: paymentInPath,
  keyed: 'foreign',
  body: { schema: adjustPaymentBody.meta({ id: 'AdjustPayment' }), example: { amount: 2499 } },
  answers: {
    200: paymentAnswer('The payment with the new amount.', { ...heldPayment, amount: 2499 }),
    202: acceptedPayment,
  },
  problems: [
    'payment-declined',
    'authorization-expired',
    'invalid-state',
    'invalid-amount',
    'amount-too-small',
    'not-supported-by-provider',
  ],
}
