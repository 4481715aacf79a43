// POST /v1/payments/:id/cancel
import { paymentEndpoint } from '../../http/payments/payment-endpoint.ts'
import { cancelPaymentBody, cancelPaymentContract } from './contract.ts'
import { cancelPayment } from './phases.ts'

export const cancelPaymentEndpoint = paymentEndpoint({
  operation: cancelPayment,
  path: '/v1/payments/:id/cancel',
  contract: cancelPaymentContract,
  body: cancelPaymentBody,
  parameters: ({ reason = null }) => ({ reason }),
})
