// POST /v1/payments/:id/cancel
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { paymentEndpoint } from '../../http/resources/payment-endpoint.ts'
import { cancelPaymentBody, cancelPaymentContract } from './contract.ts'
import { cancelPayment } from './phases.ts'

export const cancelPaymentEndpoint = paymentEndpoint({
  operation: cancelPayment,
  path: '/v1/payments/:id/cancel',
  contract: cancelPaymentContract,
  body: cancelPaymentBody,
  parameters: ({ reason = null }) => ({ reason }),
  refuses(_body, _payment, capabilities) {
    if (capabilities.void) return undefined
    const detail = 'The provider does not release a hold before it expires.'
    return new ProblemError('not-supported-by-provider', { detail })
  },
})
