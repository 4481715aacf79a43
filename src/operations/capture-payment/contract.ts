// What openapi.yaml says of POST /v1/payments/:id/capture, and the schema that checks its body.
import { z } from 'zod'
import type { KeyedContract } from '../../http/keyed/keyed-endpoint.ts'
import { acceptedPayment, paymentAnswer, paymentInPath } from '../../http/payments/contract.ts'
import { amountField } from '../../http/requests/body-fields.ts'

export const capturePaymentBody = z.strictObject({
  amount: amountField
    .optional()
    .describe('How much to take, in minor units; by default all. The rest is released.'),
})

export const capturePaymentContract: KeyedContract = {
  operationId: 'capturePayment',
  tag: 'Payments',
  summary: 'Take the money that a payment holds',
  path: paymentInPath,
  keyed: 'foreign',
  body: {
    schema: capturePaymentBody.meta({ id: 'CapturePayment' }),
    mayOmit: true,
    example: { amount: 1500 },
  },
  answers: { 200: paymentAnswer('The payment, captured.'), 202: acceptedPayment },
  problems: [
    'payment-declined',
    'invalid-state',
    'invalid-amount',
    'capture-exceeds-authorization',
  ],
}
