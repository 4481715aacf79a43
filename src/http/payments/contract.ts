// Contracts of the endpoints that read payments, and the parts that the contracts of operations
// share.
import { z } from 'zod'
import { referenceField } from '../requests/body-fields.ts'
import { listOf } from '../contracts/fields.ts'
import { examplePayment, paymentSchema, phaseRunSchema } from './schema.ts'
import type { Contracts, Success } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'

export const paymentInPath = idInPath('pay', 'The id of the payment.')

/** A response that shows a payment, which in its example differs from a charged one. */
export const paymentAnswer = (
  description: string,
  differences: Readonly<Record<string, unknown>> = {},
): Success => ({
  description,
  schema: paymentSchema,
  headers: ['Location'],
  example: { ...examplePayment, ...differences },
})

/** A payment that holds its amount. */
export const heldPayment = {
  amount_captured: 0,
  status: 'requires_capture',
  capture_method: 'manual',
}

/** The description of a response with status 202. */
export const accepted = (resource: string): string =>
  `The operation is accepted and still in progress. The body is the ${resource} in its current state. To get the final response, retry with the same idempotency key, or read the resource at \`Location\`.`

export const acceptedPayment = paymentAnswer(accepted('payment'), {
  amount_captured: 0,
  status: 'processing',
  capture_before: null,
})

export const paymentContracts: Contracts = {
  'GET /v1/payments': {
    operationId: 'listPayments',
    tag: 'Payments',
    summary: 'List payments',
    description: 'Returns your payments, newest first.',
    isList: true,
    query: z.object({
      reference: referenceField
        .optional()
        .describe('Only return payments with this reference, also those that were declined.'),
    }),
    answers: {
      200: { description: 'A page of payments.', schema: listOf('PaymentList', paymentSchema) },
    },
  },
  'GET /v1/payments/:id': {
    operationId: 'getPayment',
    tag: 'Payments',
    summary: 'Retrieve a payment',
    description:
      'Returns a payment. If its outcome is unknown, the request also makes the service look up the outcome at the provider soon.',
    path: paymentInPath,
    answers: { 200: { description: 'The payment.', schema: paymentSchema } },
  },
  'GET /v1/payments/:id/timeline': {
    operationId: 'getPaymentTimeline',
    tag: 'Payments',
    summary: 'Retrieve the timeline of a payment',
    description:
      'Returns every attempt of every step of the operations on a payment and its refunds, oldest first. Use it to see exactly what was sent to the provider, and when. The list is not paginated.',
    path: paymentInPath,
    answers: {
      200: {
        description: 'The timeline of the payment.',
        schema: listOf('PaymentTimeline', phaseRunSchema),
      },
    },
  },
}
