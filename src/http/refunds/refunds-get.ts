// GET /v1/refunds/:id and GET /v1/payments/:id/refunds: return and list refunds.
import { findRefund, listRefunds } from '../../db/payments/refunds.ts'
import { parseRefundId, presentRefund } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { checkOnRead } from '../payments/payments-check-on-read.ts'
import { findRequestedPayment } from '../payments/requested-payment.ts'
import { parseListQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { showPage } from '../responses/page-answer.ts'
import type { TenantEndpoint } from '../endpoint.ts'

export const getRefund: TenantEndpoint = async (parts, request, tenantId) => {
  const id = parseRefundId(String(request.params['id']))
  const refund = id === undefined ? undefined : await findRefund(parts.store.sql, tenantId, id)
  if (refund === undefined) throw new ProblemError('resource-not-found')
  await checkOnRead(parts, refund)
  return showJson(presentRefund(refund))
}

export const listPaymentRefunds: TenantEndpoint = async (parts, request, tenantId) => {
  const query = parseListQuery(request.query, parseRefundId)
  const payment = await findRequestedPayment(parts, request, tenantId)
  return showPage(await listRefunds(parts.store.sql, payment, query), presentRefund)
}
