// Contracts of the endpoints that read refunds.
import { z } from 'zod'
import type { Contracts } from '../contracts/contract.ts'
import { listOf } from '../contracts/fields.ts'
import { idInPath } from '../contracts/parameters.ts'
import { paymentInPath } from '../payments/contract.ts'
import { refundSchema } from '../payments/schema.ts'
import { referenceField } from '../requests/body-fields.ts'

const refundList = listOf('RefundList', refundSchema)

export const refundContracts: Contracts = {
  'GET /v1/refunds': {
    operationId: 'listRefunds',
    tag: 'Refunds',
    summary: 'List refunds',
    description: 'Returns your refunds, newest first.',
    isList: true,
    query: z.object({
      reference: referenceField
        .optional()
        .describe('Only return refunds with this reference, also those that were declined.'),
    }),
    answers: { 200: { description: 'A page of refunds.', schema: refundList } },
  },
  'GET /v1/payments/:id/refunds': {
    operationId: 'listPaymentRefunds',
    tag: 'Refunds',
    summary: 'List the refunds of a payment',
    description: 'Returns the refunds of a payment, newest first.',
    path: paymentInPath,
    isList: true,
    answers: { 200: { description: 'A page of refunds.', schema: refundList } },
  },
  'GET /v1/refunds/:id': {
    operationId: 'getRefund',
    tag: 'Refunds',
    summary: 'Retrieve a refund',
    description:
      'Returns a refund. If its outcome is unknown, the request also makes the service look up the outcome at the provider soon.',
    path: idInPath('re', 'The id of the refund.'),
    answers: { 200: { description: 'The refund.', schema: refundSchema } },
  },
}
