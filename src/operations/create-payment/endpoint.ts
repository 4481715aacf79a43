// POST /v1/payments
import { randomUUIDv7 } from 'node:crypto'
import { detailsOfPayment, insertPayments } from '../../db/payments/payments.ts'
import { findChargeProblem } from '../../domain/payments/amount-rules.ts'
import type { PaymentRequest } from '../../domain/payments/payment.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { keyedEndpoint } from '../../http/keyed/keyed-endpoint.ts'
import { refusing } from '../../http/keyed/intent-draft.ts'
import { showPayment } from '../../http/keyed/unfinished-answer.ts'
import { findReferenceProblem } from '../../http/payments/require-reference.ts'
import { validateBody } from '../../http/requests/validate-body.ts'
import { createPaymentBody, createPaymentContract } from './contract.ts'
import { createPayment } from './phases.ts'

export const createPaymentEndpoint = keyedEndpoint({
  operation: createPayment,
  path: '/v1/payments',
  scope: 'payments:write',
  contract: createPaymentContract,
  readBeforeKey: async ({ parts, body }) => {
    const payment = paymentRequestOf(body)
    const { providerName: provider } = parts
    const { amounts } = parts.capabilitiesOf(provider)
    const problem =
      findReferenceProblem(parts, payment.reference) ??
      findChargeProblem(amounts, payment.amountMinor, payment.currency)
    return refusing(problem, {
      paymentId: randomUUIDv7(),
      details: detailsOfPayment(payment, provider),
      resource: insertPayments,
      explainRefusal: () => Promise.resolve(customerNotFound()),
    })
  },
  showUnfinished: showPayment,
})

/** The store refuses a payment for this reason alone. It is the same for every unknown customer. */
function customerNotFound(): ProblemError {
  const errors = [{ pointer: '/customer', detail: 'No such customer' }]
  return new ProblemError('customer-not-found', { errors })
}

/**
 * What a client asks for, from the body of its request.
 *
 * @throws ProblemError unknown-field, invalid-amount, unknown-currency or invalid-field, see
 *   `validateBody`.
 */
export function paymentRequestOf(body: Readonly<Record<string, unknown>>): PaymentRequest {
  const valid = validateBody(createPaymentBody, body)
  return {
    amountMinor: valid.amount,
    currency: valid.currency,
    paymentMethod: valid.payment_method,
    captureMethod: valid.capture_method,
    customer: valid.customer ?? null,
    description: valid.description ?? null,
    reference: valid.reference ?? null,
    metadata: valid.metadata ?? {},
  }
}
