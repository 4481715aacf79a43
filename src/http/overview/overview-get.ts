// GET /admin/overview: shows operators what the service does now.
import {
  RATE_WINDOW_SECONDS,
  TAKEOVER_WINDOW_SECONDS,
  type OperationCounts,
} from '../../db/operators/activity-figures.ts'
import type { Overview } from '../../db/operators/overview.ts'
import type { SeenProcess } from '../../db/operators/service-processes.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import type { AdminEndpoint } from '../endpoint.ts'
import { refuseQuery } from '../requests/list-query.ts'
import { showJson } from '../responses/answer.ts'

export const getOverview: AdminEndpoint = async ({ readOverview }, request) => {
  refuseQuery(request.query)
  return showJson(presentOverview(await readOverview()))
}

function presentOverview(overview: Overview): Record<string, unknown> {
  const { health, waiting, processes } = overview
  return {
    object: 'overview',
    at: overview.at,
    rates: presentRates(overview.recent),
    recovery: presentTakeovers(overview.takeovers),
    unfinished: { pending: health.pending, processing: health.processing },
    unknown: health.unknown,
    proposed: overview.proposed,
    oldest_unfinished_seconds: health.oldestUnfinishedSeconds,
    oldest_unknown_seconds: health.oldestUnknownSeconds,
    findings_open: health.findingsOpen,
    queues: health.queues,
    dead_letters: health.deadLetters,
    waiting_by_tenant: waiting.map(({ tenantId, name, operations }) => ({
      tenant: showTenantId(tenantId),
      name,
      operations,
    })),
    disputes: health.disputes,
    endpoints: { paused: health.pausedEndpoints, disabled: health.disabledEndpoints },
    processes: processes.map(presentProcess),
    circuits: processes.filter(({ alive }) => alive).flatMap(presentCircuits),
  }
}

function presentRates({ accepted, completed }: OperationCounts): Record<string, number> {
  return {
    accepted_per_second: accepted / RATE_WINDOW_SECONDS,
    completed_per_second: completed / RATE_WINDOW_SECONDS,
    window_seconds: RATE_WINDOW_SECONDS,
  }
}

function presentTakeovers(takeovers: readonly number[]): Record<string, number | null> {
  const ascending = takeovers.toSorted((one, other) => one - other)
  return {
    takeovers: ascending.length,
    p50_seconds: ascending[Math.floor((ascending.length - 1) / 2)] ?? null,
    max_seconds: ascending.at(-1) ?? null,
    window_seconds: TAKEOVER_WINDOW_SECONDS,
  }
}

function presentProcess(process: SeenProcess): Record<string, unknown> {
  const { id, kind, host, queues, version, alive } = process
  const { startedAt: started_at, seenAt: seen_at } = process
  return { id, kind, host, queues, version, started_at, seen_at, alive }
}

function presentCircuits({ id, circuits, seenAt }: SeenProcess): Record<string, unknown>[] {
  return circuits.map(({ kind, state, seconds }) => ({
    kind,
    state,
    process: id,
    since: new Date(seenAt.getTime() - seconds * 1_000),
  }))
}
