// GET /v1/disputes and GET /v1/disputes/:id: list and return disputes.
import { findDispute, listDisputes as readDisputes } from '../../db/payments/disputes.ts'
import { disputeStatuses, parseDisputeId, presentDispute } from '../../domain/payments/dispute.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { oneOfFilter, paymentFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'
import { showPage } from '../responses/page-answer.ts'

const knownFilters = {
  payment: paymentFilter,
  status: oneOfFilter('one status, such as needs_response', disputeStatuses),
}

export const listDisputes: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parseDisputeId, knownFilters)
  const { payment: paymentId, status } = filters
  const disputes = await readDisputes(store.sql, tenantId, { paymentId, status }, page)
  return showPage(disputes, presentDispute)
}

export const getDispute: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseDisputeId(String(request.params['id']))
  const dispute = id === undefined ? undefined : await findDispute(store.sql, tenantId, id)
  if (dispute === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentDispute(dispute))
}
