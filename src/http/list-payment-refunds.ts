// GET /v1/payments/:id/refunds
import { listRefunds } from '../db/payments/refunds.ts'
import { parseRefundId, presentRefund } from '../domain/payments/refund.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { findRequestedPayment } from './find-requested-payment.ts'
import { parseListQuery } from './list-query.ts'
import { showPage } from './show-page.ts'

export const listPaymentRefunds: TenantEndpoint = async (parts, request, tenantId) => {
  const query = parseListQuery(request.query, parseRefundId)
  const payment = await findRequestedPayment(parts, request, tenantId)
  return showPage(await listRefunds(parts.store.sql, payment, query), presentRefund)
}
