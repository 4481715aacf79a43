// POST /v1/payments/:id/refunds
import { randomUUIDv7 } from 'node:crypto'
import { z } from 'zod'
import { findPayment } from '../db/payments/payments.ts'
import { insertRefund, type RefundRequest } from '../db/payments/refunds.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import { amountLeftMinor, type Payment } from '../domain/payments/payment.ts'
import { refundReasons } from '../domain/payments/refund.ts'
import { createRefund } from '../operations/create-refund/phases.ts'
import { amountField, metadataField } from './body-fields.ts'
import type { ApiParts } from './endpoint.ts'
import { findRequestedPayment } from './find-requested-payment.ts'
import { keyedEndpoint } from './keyed-endpoint.ts'
import { invalidState } from './refuse-state.ts'
import { showRefund } from './show-unfinished.ts'
import { validateBody } from './validate-body.ts'

export const createRefundBody = z.strictObject({
  amount: amountField
    .optional()
    .describe('How much to give back, in minor units; by default all that is left.'),
  reason: z.enum(refundReasons).nullish().describe('Why, for the provider.'),
  metadata: metadataField.nullish().describe("The client's own names and values."),
})

interface Input {
  readonly payment: Payment
  readonly refund: RefundRequest
}

export const createRefundEndpoint = keyedEndpoint<Input>({
  operation: createRefund,
  mayOmitBody: true,
  async read(parts, { request, tenantId, body }) {
    const { amount, reason, metadata } = validateBody(createRefundBody, body)
    const payment = await findRequestedPayment(parts, request, tenantId)
    const refund = { amountMinor: amount ?? null, reason: reason ?? null, metadata: metadata ?? {} }
    return { input: { payment, refund }, paymentId: payment.id, refundId: randomUUIDv7() }
  },
  resource: (sql, { refund }) => insertRefund(sql, refund),
  explainRefusal: explainRefusedRefund,
  showUnfinished: showRefund,
})

/** Nothing was captured, or too little of it is left. */
async function explainRefusedRefund(
  { store }: ApiParts,
  { payment, refund }: Input,
): Promise<ProblemError> {
  const now = await findPayment(store.sql, payment.tenantId, payment.id)
  if (now?.status !== 'succeeded') return invalidState(now)
  const left = amountLeftMinor(now)
  if ((refund.amountMinor ?? 1) <= left) {
    // Another operation had it when the intent came, and has let go since.
    return new ProblemError('invalid-state', { detail: 'The payment has changed meanwhile.' })
  }
  return new ProblemError('refund-exceeds-capture', { detail: `${left} is left to refund.` })
}
