// POST /v1/payments/:id/capture
import { findPartProblem } from '../../domain/payments/currency.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { paymentEndpoint, unableTo } from '../../http/resources/payment-endpoint.ts'
import { capturePayment } from './phases.ts'
import { z } from 'zod'
import { partAmountField } from '../../http/requests/validate-body.ts'
import { heldPayment, paymentAnswer } from '../../http/resources/payment.ts'

const capturePaymentBody = z.strictObject({
  amount: partAmountField
    .describe('The amount to capture. By default all of it; the rest is released.')
    .optional(),
})

export const capturePaymentEndpoint = paymentEndpoint({
  operation: capturePayment,
  path: '/v1/payments/:id/capture',
  contract: {
    operationId: 'capturePayment',
    summary: 'Capture a payment',
    description:
      'Captures all or a part of the amount that a payment holds on the card, before the time in `capture_before`.',
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
    },
    problems: [
      'payment-declined',
      'authorization-expired',
      'invalid-state',
      'invalid-amount',
      'capture-exceeds-authorization',
      'not-supported-by-provider',
    ],
  },
  parameters: ({ amount }, { amountMinor }) => ({
    amount_minor: amount ?? amountMinor,
    authorized_minor: amountMinor,
  }),
  refuses({ amount }, { amountMinor, currency }, capabilities) {
    const isPart = amount !== undefined && amount < amountMinor
    const problem = isPart ? unableTo('partialCapture', capabilities) : undefined
    return problem ?? findPartProblem(capabilities.amounts, amount, currency)
  },
  // Both amounts were read before: another operation may have changed the payment since.
  requires: (now, { amount_minor: amount, authorized_minor: authorized }) =>
    now.amountMinor === authorized && now.amountMinor >= amount,
  explain(now, { amount_minor: amount, authorized_minor: authorized }) {
    if (amount > now.amountMinor) {
      return new ProblemError('capture-exceeds-authorization', {
        errors: [{ pointer: '/amount', detail: 'This is more than the amount of the payment.' }],
      })
    }
    if (authorized === now.amountMinor) return undefined
    return new ProblemError('invalid-state', { detail: 'The amount of the payment has changed.' })
  },
})
