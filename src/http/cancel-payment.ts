// POST /v1/payments/:id/cancel
import { z } from 'zod'
import { occupyPaymentIfIn } from '../db/payments/payments.ts'
import { waitingStatuses } from '../domain/payments/payment-status.ts'
import { cancelPayment, cancelReasons } from '../operations/cancel-payment/phases.ts'
import { findRequestedPayment } from './find-requested-payment.ts'
import { keyedEndpoint } from './keyed-endpoint.ts'
import { refuseState } from './refuse-state.ts'
import { showPayment } from './show-unfinished.ts'
import { validateBody } from './validate-body.ts'

export const cancelPaymentBody = z.strictObject({
  reason: z.enum(cancelReasons).nullish().describe('Why, for the provider.'),
})

export const cancelPaymentEndpoint = keyedEndpoint({
  operation: cancelPayment,
  mayOmitBody: true,
  async read(parts, { request, tenantId, body }) {
    const { reason = null } = validateBody(cancelPaymentBody, body)
    const payment = await findRequestedPayment(parts, request, tenantId)
    return { input: payment, paymentId: payment.id, parameters: { reason } }
  },
  resource: (sql) => occupyPaymentIfIn(sql, waitingStatuses),
  explainRefusal: refuseState,
  showUnfinished: showPayment,
})
