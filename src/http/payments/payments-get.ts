// GET /v1/payments, GET /v1/payments/:id and GET /v1/payments/:id/timeline: list payments, return
// one, and return its timeline.
import { type PhaseRunRecord, listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { presentPayment, parsePaymentId } from '../../domain/payments/payment.ts'
import { showJson } from '../responses/answer.ts'
import { checkOnRead } from './payments-check-on-read.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { findRequestedPayment } from './requested-payment.ts'
import { listPayments as readPayments } from '../../db/payments/payments.ts'
import { referenceFilter } from '../requests/list-filters.ts'
import { parseFilteredQuery } from '../requests/list-query.ts'
import { showPage } from '../responses/page-answer.ts'

/**
 * Renders one attempt of a phase. `recovery_point` is null when the attempt recorded no outcome.
 */
export function presentPhaseRun(run: PhaseRunRecord): Record<string, unknown> {
  return {
    object: 'phase_run',
    operation: run.operation,
    phase: run.phase,
    recovery_point: run.reached,
    attempt: run.attempt,
    lease_epoch: run.leaseEpoch,
    provider: run.outcome && presentExchange(run.outcome, run),
    started_at: run.startedAt.toISOString(),
    ended_at: run.endedAt?.toISOString() ?? null,
    recorded_at: run.recordedAt.toISOString(),
  }
}

/** The engine describes each call: whether it executes anything, and what it is about. */
function presentExchange(
  outcome: NonNullable<PhaseRunRecord['outcome']>,
  { asked, answered }: PhaseRunRecord,
): Record<string, unknown> {
  const { kind = null, ...request } = asked ?? {}
  const { amount = null, currency = null } = request
  return { kind, amount, currency, outcome, asked: request, answered }
}

export const getPayment: TenantEndpoint = async (parts, request, tenantId) => {
  const payment = await findRequestedPayment(parts, request, tenantId)
  await checkOnRead(parts, { ...payment, paymentId: payment.id })
  return showJson(presentPayment(payment))
}

const knownFilters = { reference: referenceFilter }

export const listPayments: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(request.query, parsePaymentId, knownFilters)
  return showPage(await readPayments(store.sql, tenantId, filters, page), presentPayment)
}

export const getPaymentTimeline: TenantEndpoint = async (parts, request, tenantId) => {
  const payment = await findRequestedPayment(parts, request, tenantId)
  const runs = await listPhaseRuns(parts.store, tenantId, payment.id)
  return showJson({ object: 'list', data: runs.map(presentPhaseRun), has_more: false })
}
