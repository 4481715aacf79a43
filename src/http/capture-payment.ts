// POST /v1/payments/:id/capture
import { z } from 'zod'
import { occupyPaymentIfIn } from '../db/payments/payments.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import { capturableStatuses, capturePayment } from '../operations/capture-payment/phases.ts'
import { amountField } from './body-fields.ts'
import { findRequestedPayment } from './find-requested-payment.ts'
import { keyedEndpoint } from './keyed-endpoint.ts'
import { refuseState } from './refuse-state.ts'
import { showPayment } from './show-unfinished.ts'
import { validateBody } from './validate-body.ts'

export const capturePaymentBody = z.strictObject({
  amount: amountField
    .optional()
    .describe('How much to take, in minor units; by default all. The rest is released.'),
})

export const capturePaymentEndpoint = keyedEndpoint({
  operation: capturePayment,
  mayOmitBody: true,
  async read(parts, { request, tenantId, body }) {
    const { amount } = validateBody(capturePaymentBody, body)
    const payment = await findRequestedPayment(parts, request, tenantId)
    if (amount !== undefined && amount > payment.amountMinor) {
      throw new ProblemError('capture-exceeds-authorization', {
        errors: [{ pointer: '/amount', detail: 'This is more than the amount of the payment.' }],
      })
    }
    const parameters = { amount_minor: amount ?? payment.amountMinor }
    return { input: payment, paymentId: payment.id, parameters }
  },
  resource: (sql) => occupyPaymentIfIn(sql, capturableStatuses),
  explainRefusal: refuseState,
  showUnfinished: showPayment,
})
