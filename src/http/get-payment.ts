// GET /v1/payments/:id
import { presentPayment } from '../domain/payment.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { findRequestedPayment } from './find-requested-payment.ts'

export const getPayment: TenantEndpoint = async (parts, request, tenantId) =>
  showJson(presentPayment(await findRequestedPayment(parts, request, tenantId)))
