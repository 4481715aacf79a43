// GET /v1/payments/:id
import { presentPayment } from '../domain/payments/payment.ts'
import { showJson } from './answer.ts'
import { checkOnRead } from './check-on-read.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { findRequestedPayment } from './find-requested-payment.ts'

export const getPayment: TenantEndpoint = async (parts, request, tenantId) => {
  const payment = await findRequestedPayment(parts, request, tenantId)
  await checkOnRead(parts, { ...payment, paymentId: payment.id })
  return showJson(presentPayment(payment))
}
