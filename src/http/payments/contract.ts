// The contracts of the endpoints that read payments, and what those of operations on payments share.
import { listOf } from '../contracts/fields.ts'
import { paymentSchema, phaseRunSchema } from './schema.ts'
import type { Contracts, Success } from '../contracts/contract.ts'
import { idInPath } from '../contracts/parameters.ts'

export const paymentInPath = idInPath('pay', 'The payment.')

/** The answer that shows a payment. */
export const paymentAnswer = (description: string): Success => ({
  description,
  schema: paymentSchema,
  headers: ['Location'],
})

/** What a 202 says of a resource. */
export const accepted = (what: string): string =>
  `Accepted, and not done yet: the ${what} as it is now. Retry with the same key, or read it at Location.`

export const acceptedPayment = paymentAnswer(accepted('payment'))

export const paymentContracts: Contracts = {
  'GET /v1/payments': {
    operationId: 'listPayments',
    tag: 'Payments',
    summary: 'List payments, newest first',
    isList: true,
    answers: {
      200: { description: 'A page of payments.', schema: listOf('PaymentList', paymentSchema) },
    },
  },
  'GET /v1/payments/:id': {
    operationId: 'getPayment',
    tag: 'Payments',
    summary: 'Read a payment',
    path: paymentInPath,
    answers: { 200: { description: 'The payment.', schema: paymentSchema } },
  },
  'GET /v1/payments/:id/timeline': {
    operationId: 'getPaymentTimeline',
    tag: 'Payments',
    summary: 'Read what was done for a payment, step by step',
    path: paymentInPath,
    answers: {
      200: {
        description: 'Every try of every step, oldest first.',
        schema: listOf('PaymentTimeline', phaseRunSchema),
      },
    },
  },
}
