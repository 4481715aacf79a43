// GET /v1/payments
import { listPayments as readPayments } from '../db/payments/payments.ts'
import { parsePaymentId, presentPayment } from '../domain/payments/payment.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { parseListQuery } from './list-query.ts'
import { showPage } from './show-page.ts'

export const listPayments: TenantEndpoint = async ({ store }, request, tenantId) => {
  const query = parseListQuery(request.query, parsePaymentId)
  return showPage(await readPayments(store.sql, tenantId, query), presentPayment)
}
