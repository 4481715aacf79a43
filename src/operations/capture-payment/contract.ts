// The contract of POST /v1/payments/:id/capture, and the schema of its body.
import { z } from 'zod'
import type { KeyedContract } from '../../http/keyed/keyed-route.ts'
import { partAmountField } from '../../http/resources/amount-fields.ts'
import {
  acceptedPayment,
  heldPayment,
  paymentAnswer,
  paymentInPath,
} from '../../http/resources/payment.ts'

export const capturePaymentBody = z.strictObject({
  amount: partAmountField(
    'The amount to capture. By default all of it; the rest is released.',
  ).optional(),
})

export const capturePaymentContract: KeyedContract = {
  operationId: 'capturePayment',
  tag: 'Payments',
  summary: 'Capture a payment',
  description:
    'Captures all or a part of the amount that a payment holds on the card, before the time in `capture_before`.',
  path: paymentInPath,
  keyed: 'foreign',
  body: {
    schema: capturePaymentBody.meta({ id: 'CapturePayment' }),
    mayOmit: true,
    example: { amount: 1500 },
  },
  answers: {
    200: paymentAnswer('The captured payment.', {
      ...heldPayment,
      amount_captured: 1500,
      status: 'succeeded',
    }),
    202: acceptedPayment,
  },
  problems: [
    'payment-declined',
    'authorization-expired',
    'invalid-state',
    'invalid-amount',
    'capture-exceeds-authorization',
    'not-supported-by-provider',
  ],
}
