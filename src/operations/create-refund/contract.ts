// The contract of POST /v1/payments/:id/refunds, and the schema of its body.
import { z } from 'zod'
import { refundReasons } from '../../domain/payments/refund.ts'
import type { KeyedContract } from '../../http/keyed/keyed-route.ts'
import { partAmountField } from '../../http/resources/amount-fields.ts'
import {
  accepted,
  paymentInPath,
  exampleRefund,
  refundSchema,
} from '../../http/resources/payment.ts'
import {
  optionalField,
  optionalMetadataField,
  referenceField,
} from '../../http/requests/body-fields.ts'

export const createRefundBody = z.strictObject({
  amount: partAmountField('The amount to refund. By default all that is left.').optional(),
  reason: optionalField(z.enum(refundReasons)).describe(
    'The reason, which is sent to the provider.',
  ),
  reference: optionalField(referenceField).meta({
    description:
      'Your own name of what is returned, for example the number of a return. The service refunds each reference once: while a refund with it may return money or has returned it, another one is refused, also with another key or for another payment. A refund that was declined, canceled or has failed leaves its reference free. A reference must name no person.',
  }),
  metadata: optionalMetadataField.describe('Key-value pairs to store with the refund.'),
})

export const createRefundContract: KeyedContract = {
  operationId: 'createRefund',
  tag: 'Refunds',
  summary: 'Refund a payment',
  description:
    'Returns all or a part of a captured payment to the cardholder. The refund is made at most once, even if the request is sent several times with the same key.',
  path: paymentInPath,
  keyed: 'foreign',
  body: {
    schema: createRefundBody.meta({ id: 'CreateRefund' }),
    mayOmit: true,
    example: { amount: 500, reason: refundReasons[2] },
  },
  answers: {
    201: { description: 'The refund.', schema: refundSchema, headers: ['Location'] },
    202: {
      description: accepted('refund'),
      schema: refundSchema,
      headers: ['Location'],
      example: { ...exampleRefund, status: 'processing' },
    },
  },
  problems: [
    'refund-declined',
    'invalid-state',
    'refund-exceeds-capture',
    'charge-disputed',
    'invalid-amount',
    'duplicate-reference',
    'reference-required',
  ],
}
