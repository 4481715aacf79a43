// GET /v1/refunds/:id
import { findRefund } from '../db/payments/refunds.ts'
import { ProblemError } from '../domain/problems/problem-error.ts'
import { parseRefundId, presentRefund } from '../domain/payments/refund.ts'
import { showJson } from './answer.ts'
import { checkOnRead } from './check-on-read.ts'
import type { TenantEndpoint } from './endpoint.ts'

export const getRefund: TenantEndpoint = async (parts, request, tenantId) => {
  const id = parseRefundId(String(request.params['id']))
  const refund = id === undefined ? undefined : await findRefund(parts.store.sql, tenantId, id)
  if (refund === undefined) throw new ProblemError('resource-not-found')
  await checkOnRead(parts, refund)
  return showJson(presentRefund(refund))
}
