// POST /v1/payments/:id/cancel
import { paymentEndpoint } from '../../http/resources/payment-endpoint.ts'
import { cancelPayment } from './phases.ts'
import { z } from 'zod'
import { cancelReasons } from '../../domain/payments/payment.ts'
import { heldPayment, paymentAnswer } from '../../http/resources/payment.ts'
import { optionalField } from '../../http/requests/validate-body.ts'

const cancelPaymentBody = z.strictObject({
  reason: optionalField(z.enum(cancelReasons)).describe(
    'The reason, which is sent to the provider.',
  ),
})

export const cancelPaymentEndpoint = paymentEndpoint({
  operation: cancelPayment,
  path: '/v1/payments/:id/cancel',
  contract: {
    operationId: 'cancelPayment',
    summary: 'Cancel a payment',
    description: 'Cancels a payment before it is captured, and releases the held amount.',
    body: {
      schema: cancelPaymentBody.meta({ id: 'CancelPayment' }),
      mayOmit: true,
      example: { reason: 'requested_by_customer' },
    },
    answers: {
      200: paymentAnswer('The canceled payment.', {
        ...heldPayment,
        status: 'canceled',
        cancellation_reason: 'requested_by_customer',
      }),
    },
    problems: ['payment-declined', 'invalid-state', 'not-supported-by-provider'],
  },
  parameters: ({ reason = null }) => ({ reason }),
})
