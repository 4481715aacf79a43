// GET /v1/payments/:id/timeline
import { listPhaseRuns } from '../db/operations/phase-runs.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { findRequestedPayment } from './find-requested-payment.ts'
import { presentPhaseRun } from './show-phase-run.ts'

export const getPaymentTimeline: TenantEndpoint = async (parts, request, tenantId) => {
  const payment = await findRequestedPayment(parts, request, tenantId)
  const runs = await listPhaseRuns(parts.store, tenantId, payment.id)
  return showJson({ object: 'list', data: runs.map(presentPhaseRun), has_more: false })
}
