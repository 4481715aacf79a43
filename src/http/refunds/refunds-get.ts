// GET /v1/refunds, GET /v1/refunds/:id and GET /v1/payments/:id/refunds: list refunds, and return one.
import { findRefund, listRefunds as readRefunds } from '../../db/payments/refunds.ts'
import { parseRefundId, presentRefund } from '../../domain/payments/refund.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import { checkOnRead } from '../payments/payments-check-on-read.ts'
import { findRequestedPayment } from '../payments/requested-payment.ts'
import { referenceFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery, parseListQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { showPage } from '../responses/page-answer.ts'
import type { TenantEndpoint } from '../endpoint.ts'

const knownFilters = { reference: referenceFilter }

export const listRefunds: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parseRefundId, knownFilters)
  return showPage(await readRefunds(store.sql, tenantId, filters, page), presentRefund)
}

export const getRefund: TenantEndpoint = async (parts, request, tenantId) => {
  const id = parseRefundId(String(request.params['id']))
  const refund = id === undefined ? undefined : await findRefund(parts.store.sql, tenantId, id)
  if (refund === undefined) throw new ProblemError('resource-not-found')
  await checkOnRead(parts, refund)
  return showJson(presentRefund(refund))
}

export const listPaymentRefunds: TenantEndpoint = async (parts, request, tenantId) => {
  const page = parseListQuery(request.query, parseRefundId)
  const { id: paymentId } = await findRequestedPayment(parts, request, tenantId)
  return showPage(await readRefunds(parts.store.sql, tenantId, { paymentId }, page), presentRefund)
}
