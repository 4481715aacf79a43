// Renders reconciliations and their findings for operators.
import type { Finding } from '../../db/reconciliation/findings.ts'
import type { Run } from '../../db/reconciliation/reconciliation-runs.ts'
import { showPaymentId } from '../../domain/payments/payment.ts'
import { showRefundId } from '../../domain/payments/refund.ts'
import { parseId, showId } from '../../domain/resource-id.ts'
import { showOperationId } from './operations-show.ts'

export const parseRunId = (text: string): string | undefined => parseId('rec', text)
export const parseFindingId = (text: string): string | undefined => parseId('fnd', text)

export const showRunId = (id: string): string => showId('rec', id)

export function presentRun(run: Run): Record<string, unknown> {
  return {
    id: showRunId(run.id),
    object: 'reconciliation',
    provider: run.provider,
    from: run.from,
    to: run.to,
    status: run.status,
    requested_by: run.requestedBy,
    counts: run.counts,
    last_error: run.lastError,
    created_at: run.createdAt,
    finished_at: run.finishedAt,
  }
}

export function presentFinding(finding: Finding): Record<string, unknown> {
  const { runId, tenantId, paymentId, refundId, operationId } = finding
  return {
    id: showId('fnd', finding.id),
    object: 'finding',
    kind: finding.kind,
    status: finding.status,
    provider: finding.provider,
    about: finding.objectId,
    reconciliation: runId && showRunId(runId),
    tenant: tenantId && showId('tnt', tenantId),
    payment: paymentId && showPaymentId(paymentId),
    refund: refundId && showRefundId(refundId),
    operation: operationId && showOperationId(operationId),
    ours: finding.ours,
    theirs: finding.theirs,
    opened_at: finding.openedAt,
    resolved_at: finding.resolvedAt,
    resolved_by: finding.resolvedBy,
    note: finding.note,
  }
}
