// GET /v1/payments
import { listPayments as readPayments } from '../db/payments.ts'
import { parsePaymentId, presentPayment } from '../domain/payment.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { parseListQuery } from './list-query.ts'

export const listPayments: TenantEndpoint = async ({ store }, request, tenantId) => {
  const query = parseListQuery(request.query, parsePaymentId)
  const page = await readPayments(store.sql, tenantId, query)
  return showJson({ object: 'list', data: page.items.map(presentPayment), has_more: page.hasMore })
}
