// GET /v1/payments/:id/timeline
import { listPhaseRuns } from '../db/phase-runs.ts'
import { showJson } from './answer.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { findRequestedPayment } from './find-requested-payment.ts'

type PhaseRunRow = Awaited<ReturnType<typeof listPhaseRuns>>[number]

export const getPaymentTimeline: TenantEndpoint = async (parts, request, tenantId) => {
  const payment = await findRequestedPayment(parts, request, tenantId)
  const runs = await listPhaseRuns(parts.store, tenantId, payment.id)
  return showJson({ object: 'list', data: runs.map(presentPhaseRun), has_more: false })
}

/** One try of a phase: `recovery_point` is the one it reached, null when it settled nothing. */
function presentPhaseRun(run: PhaseRunRow): Record<string, unknown> {
  return {
    object: 'phase_run',
    operation: run.operation,
    phase: run.phase,
    recovery_point: run.reached,
    attempt: run.attempt,
    lease_epoch: run.leaseEpoch,
    provider: run.outcome && { outcome: run.outcome, asked: run.asked, answered: run.answered },
    started_at: run.startedAt.toISOString(),
    recorded_at: run.recordedAt.toISOString(),
  }
}
