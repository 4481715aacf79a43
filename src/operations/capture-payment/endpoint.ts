// POST /v1/payments/:id/capture
import { findPartProblem } from '../../domain/payments/amount-rules.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { paymentEndpoint } from '../../http/resources/payment-endpoint.ts'
import { capturePaymentBody, capturePaymentContract } from './contract.ts'
import { capturePayment } from './phases.ts'

export const capturePaymentEndpoint = paymentEndpoint({
  operation: capturePayment,
  path: '/v1/payments/:id/capture',
  contract: capturePaymentContract,
  body: capturePaymentBody,
  parameters: ({ amount }, { amountMinor }) => ({
    amount_minor: amount ?? amountMinor,
    authorized_minor: amountMinor,
  }),
  refuses({ amount }, { amountMinor, currency }, { amounts, partialCapture }) {
    const isPart = amount !== undefined && amount < amountMinor
    if (!isPart || partialCapture) return findPartProblem(amounts, amount, currency)
    const detail = 'The provider captures only the whole amount of a payment.'
    return new ProblemError('not-supported-by-provider', { detail })
  },
  // Both amounts were read before: another operation may have changed the payment since.
  requires: (now, { amount_minor: amount, authorized_minor: authorized }) =>
    now.amountMinor === authorized && now.amountMinor >= amount,
  explain(now, { amount_minor: amount, authorized_minor: authorized }) {
    if (amount > now.amountMinor) {
      return new ProblemError('capture-exceeds-authorization', {
        errors: [{ pointer: '/amount', detail: 'This is more than the amount of the payment.' }],
      })
    }
    if (authorized === now.amountMinor) return undefined
    return new ProblemError('invalid-state', { detail: 'The amount of the payment has changed.' })
  },
})
