// POST /v1/payments/:id/adjust
import { findChargeProblem } from '../../domain/payments/amount-rules.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { paymentEndpoint } from '../../http/resources/payment-endpoint.ts'
import { adjustPaymentBody, adjustPaymentContract } from './contract.ts'
import { adjustPayment } from './phases.ts'

export const adjustPaymentEndpoint = paymentEndpoint({
  operation: adjustPayment,
  path: '/v1/payments/:id/adjust',
  contract: adjustPaymentContract,
  body: adjustPaymentBody,
  parameters: ({ amount }) => ({ amount_minor: amount }),
  refuses({ amount }, { currency }, { amounts, incrementalAuthorization }) {
    if (incrementalAuthorization) return findChargeProblem(amounts, amount, currency)
    const detail = 'The provider does not change the amount of a hold.'
    return new ProblemError('not-supported-by-provider', { detail })
  },
  // With equal amounts, a look-up at the provider could not show whether the call was executed.
  requires: (now, { amount_minor: amount }) => now.amountMinor !== amount,
  explain(now, { amount_minor: amount }) {
    if (amount !== now.amountMinor) return undefined
    return new ProblemError('invalid-amount', {
      errors: [{ pointer: '/amount', detail: 'The payment has this amount already.' }],
    })
  },
})
