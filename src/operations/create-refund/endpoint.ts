// POST /v1/payments/:id/refunds
import { randomUUIDv7 } from 'node:crypto'
import { isDisputed } from '../../db/payments/disputes.ts'
import { findPayment } from '../../db/payments/payments.ts'
import { insertRefunds, type RefundRequest } from '../../db/payments/refunds.ts'
import { findPartProblem } from '../../domain/payments/amount-rules.ts'
import { amountLeftMinor, type Payment } from '../../domain/payments/payment.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiParts } from '../../http/endpoint.ts'
import { keyedEndpoint } from '../../http/keyed/keyed-endpoint.ts'
import { refusing } from '../../http/keyed/keyed-route.ts'
import { showRefund } from '../../http/keyed/unfinished-answer.ts'
import { invalidState, findReferenceProblem } from '../../http/resources/payment-endpoint.ts'
import { findRequestedPayment } from '../../http/resources/payment.ts'
import { validateBody } from '../../http/requests/validate-body.ts'
import { createRefundBody, createRefundContract } from './contract.ts'
import { createRefund } from './phases.ts'

export const createRefundEndpoint = keyedEndpoint({
  operation: createRefund,
  path: '/v1/payments/:id/refunds',
  scope: 'refunds:write',
  contract: createRefundContract,
  async readBeforeKey({ parts, request, tenantId, body }) {
    const { amount, ...others } = validateBody(createRefundBody, body)
    const payment = await findRequestedPayment(parts, request, tenantId)
    const refund = {
      amountMinor: amount ?? null,
      reason: others.reason ?? null,
      reference: others.reference ?? null,
      metadata: others.metadata ?? {},
    }
    const problem =
      findReferenceProblem(parts, refund.reference) ??
      findPartProblem(parts.capabilitiesOf(payment.provider).amounts, amount, payment.currency)
    return refusing(problem, {
      paymentId: payment.id,
      refundId: randomUUIDv7(),
      details: { ...refund },
      resource: insertRefunds,
      explainRefusal: () => explainRefusedRefund(parts, payment, refund),
    })
  },
  showUnfinished: showRefund,
})

/** Nothing was captured, it is disputed, or too little of it is left. */
async function explainRefusedRefund(
  { store }: ApiParts,
  payment: Payment,
  refund: RefundRequest,
): Promise<ProblemError> {
  const now = await findPayment(store.sql, payment.tenantId, payment.id)
  if (now?.status !== 'succeeded') return invalidState(now)
  if (await isDisputed(store.sql, now)) return new ProblemError('charge-disputed')
  const left = amountLeftMinor(now)
  if ((refund.amountMinor ?? 1) <= left) {
    // Another operation had reserved the amount at the time of the intent, and has released it.
    return new ProblemError('invalid-state', { detail: 'The payment has changed meanwhile.' })
  }
  return new ProblemError('refund-exceeds-capture', { detail: `${left} is left to refund.` })
}
