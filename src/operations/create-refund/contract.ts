// What openapi.yaml says of POST /v1/payments/:id/refunds, and the schema that checks its body.
import { z } from 'zod'
import { refundReasons } from '../../domain/payments/refund.ts'
import type { KeyedContract } from '../../http/keyed/keyed-endpoint.ts'
import { accepted, paymentInPath } from '../../http/payments/contract.ts'
import { refundSchema } from '../../http/payments/schema.ts'
import { amountField, metadataField } from '../../http/requests/body-fields.ts'

export const createRefundBody = z.strictObject({
  amount: amountField
    .optional()
    .describe('How much to give back, in minor units; by default all that is left.'),
  reason: z.enum(refundReasons).nullish().describe('Why, for the provider.'),
  metadata: metadataField.nullish().describe("The client's own names and values."),
})

export const createRefundContract: KeyedContract = {
  operationId: 'createRefund',
  tag: 'Refunds',
  summary: 'Give something back of a payment, once',
  path: paymentInPath,
  keyed: 'foreign',
  body: {
    schema: createRefundBody.meta({ id: 'CreateRefund' }),
    mayOmit: true,
    example: { amount: 500, reason: refundReasons[2] },
  },
  answers: {
    201: { description: 'The refund.', schema: refundSchema, headers: ['Location'] },
    202: { description: accepted('refund'), schema: refundSchema, headers: ['Location'] },
  },
  problems: ['refund-declined', 'invalid-state', 'refund-exceeds-capture', 'invalid-amount'],
}
