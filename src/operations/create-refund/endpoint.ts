// POST /v1/payments/:id/refunds
import { randomUUIDv7 } from 'node:crypto'
import { isDisputed } from '../../db/payments/disputes.ts'
import { findPayment } from '../../db/payments/payments.ts'
import {
  findRefund,
  insertRefunds,
  refundFromRow,
  type RefundRow,
} from '../../db/payments/refunds.ts'
import { findPartProblem } from '../../domain/payments/currency.ts'
import { amountLeftMinor, type Payment } from '../../domain/payments/payment.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { findRequested, pathOf } from '../../http/contracts/reads.ts'
import type { ServiceParts } from '../../http/endpoint.ts'
import type { KeyedResource } from '../../http/keyed/keyed-answer.ts'
import {
  defineKeyedRoute,
  refusing,
  type KeyedContract,
  findReferenceProblem,
} from '../../http/keyed/keyed-route.ts'
import { invalidState } from '../../http/resources/payment-endpoint.ts'
import { accepted, ownPayment, exampleRefund, refundSchema } from '../../http/resources/payment.ts'
import {
  validateBody,
  optionalField,
  optionalMetadataField,
  referenceField,
  partAmountField,
} from '../../http/requests/validate-body.ts'
import { createRefund } from './phases.ts'
import { z } from 'zod'
import { presentRefund, refundPath, refundReasons } from '../../domain/payments/refund.ts'

const createRefundBody = z.strictObject({
  amount: partAmountField.describe('The amount to refund. By default all that is left.').optional(),
  reason: optionalField(z.enum(refundReasons)).describe(
    'The reason, which is sent to the provider.',
  ),
  reference: optionalField(referenceField).meta({
    description:
      'Your own name of what is returned, for example the number of a return. The service refunds each reference once: while a refund with it may return money or has returned it, another one is refused, also with another key or for another payment. A refund that was declined, canceled or has failed leaves its reference free. A reference must name no person.',
  }),
  metadata: optionalMetadataField.describe('Key-value pairs to store with the refund.'),
})

const createRefundContract: KeyedContract = {
  operationId: 'createRefund',
  tag: 'Refunds',
  summary: 'Refund a payment',
  description:
    'Returns all or a part of a captured payment to the cardholder. The refund is made at most once, even if the request is sent several times with the same key.',
  ...pathOf(ownPayment),
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

const refundResource: KeyedResource = {
  kind: 'refund',
  async read(sql, { key: { tenantId, refundId }, resource }) {
    const refund =
      resource === null
        ? await findRefund(sql, tenantId, refundId ?? '')
        : refundFromRow(resource as RefundRow)
    return refund && { ...refund, path: refundPath(refund.id), json: presentRefund(refund) }
  },
}

export const createRefundEndpoint = defineKeyedRoute({
  operation: createRefund,
  path: '/v1/payments/:id/refunds',
  scope: 'refunds:write',
  contract: createRefundContract,
  async readBeforeKey({ parts, request, tenantId, body }) {
    const { amount, ...others } = validateBody(createRefundBody, body)
    const payment = await findRequested(ownPayment, parts.store.sql, request, tenantId)
    const refund = {
      amountMinor: amount ?? null,
      reason: others.reason ?? null,
      reference: others.reference ?? null,
      metadata: others.metadata ?? {},
    }
    const problem =
      findReferenceProblem(parts, refund.reference) ??
      findPartProblem(
        parts.providers.capabilitiesOf(payment.provider).amounts,
        amount,
        payment.currency,
      )
    return refusing(problem, {
      paymentId: payment.id,
      refundId: randomUUIDv7(),
      details: { ...refund },
      resource: insertRefunds,
      explainRefusal: () => explainRefusedRefund(parts, payment, refund),
    })
  },
  resource: refundResource,
})

/** Nothing was captured, it is disputed, or too little of it is left. */
async function explainRefusedRefund(
  { store }: ServiceParts,
  payment: Payment,
  { amountMinor }: { readonly amountMinor: number | null },
): Promise<ProblemError> {
  const now = await findPayment(store.sql, payment.tenantId, payment.id)
  if (now?.status !== 'succeeded') return invalidState(now)
  if (await isDisputed(store.sql, now)) return new ProblemError('charge-disputed')
  const left = amountLeftMinor(now)
  if ((amountMinor ?? 1) <= left) {
    // Another operation had reserved the amount at the time of the intent, and has released it.
    return new ProblemError('invalid-state', { detail: 'The payment has changed meanwhile.' })
  }
  return new ProblemError('refund-exceeds-capture', { detail: `${left} is left to refund.` })
}
