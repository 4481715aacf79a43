// Turns the reports of the API and of the engine into metrics.
import { answerLayers, lookUpResults, type AnswersObserver } from '../answers/observer.ts'
import {
  refusals,
  reservationResults,
  storeCircuits,
  type ApiObserver,
  type ReservationResult,
} from '../http/observer.ts'
import { storeErrorKinds } from '../db/connection/store-errors.ts'
import { observedEvents, type EngineObserver } from '../engine/observer.ts'
import type { ApiCircuits, WorkerCircuits } from './circuits.ts'
import type { Metrics } from './metrics.ts'
import { createTenantLabels } from './tenant-labels.ts'

/** The results of requests whose operation already existed. */
const DUPLICATES: ReadonlySet<ReservationResult> = new Set([
  'retry',
  'replayed',
  'in_progress',
  'unknown',
  'expired',
])

const TENANT_COUNTERS = [
  'tenant_requests_total',
  'tenant_duplicates_total',
  'tenant_misuse_total',
] as const

/** The methods that routes have. Others are labelled `other`, to limit the number of series. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE'])

export function apiObserver(metrics: Metrics, circuits?: ApiCircuits): ApiObserver {
  const labelOf = createTenantLabels((tenant) => {
    for (const name of TENANT_COUNTERS) metrics.remove(name, { tenant })
  })
  // A rate needs a zero before the first event.
  for (const result of reservationResults) metrics.count('reservations_total', { result }, 0)
  for (const reason of refusals) metrics.count('refusals_total', { reason }, 0)
  for (const circuit of storeCircuits) metrics.set('circuit_open', { circuit }, 0)
  return {
    ...storeObserver(metrics),
    ...answersObserver(metrics),
    reserved(tenantId, result) {
      const tenant = labelOf(tenantId)
      metrics.count('reservations_total', { result })
      metrics.count('tenant_requests_total', { tenant })
      metrics.count('tenant_duplicates_total', { tenant }, DUPLICATES.has(result) ? 1 : 0)
      metrics.count('tenant_misuse_total', { tenant }, result === 'misuse' ? 1 : 0)
    },
    served({ method, route, status, seconds }) {
      const labels = {
        method: METHODS.has(method) ? method : 'other',
        route: route ?? 'none',
        status: `${Math.floor(status / 100)}xx`,
      }
      metrics.time('http_request_duration_seconds', labels, seconds)
    },
    refused: (reason) => metrics.count('refusals_total', { reason }),
    turned(circuit, isOpen) {
      metrics.set('circuit_open', { circuit }, Number(isOpen))
      circuits?.turned(circuit, isOpen)
    },
  }
}

export function engineObserver(metrics: Metrics, circuits?: WorkerCircuits): EngineObserver {
  const turnedProvider = (isOpen: boolean) => {
    metrics.set('circuit_open', { circuit: 'provider' }, Number(isOpen))
    circuits?.turned('provider', isOpen)
  }
  turnedProvider(false)
  for (const type of observedEvents) metrics.count('events_total', { type }, 0)
  metrics.count('reconciliations_scheduled_total', {}, 0)
  return {
    ...storeObserver(metrics),
    turnedProvider,
    limitedByProvider: (provider, reason) =>
      metrics.count('provider_rate_limited_total', { provider, reason }),
    comparedClocks: (provider, seconds) =>
      metrics.set('provider_clock_apart_seconds', { provider }, seconds),
    called: ({ operation, phase, provider }, outcome) =>
      metrics.count('outcomes_total', { operation, phase, provider, outcome }),
    recorded: ({ operation, phase }, seconds) =>
      metrics.time('phase_duration_seconds', { operation, phase }, seconds),
    insertedEvents: (type, times) => metrics.count('events_total', { type }, times),
    gaveBack: (status) => metrics.count('operations_given_back_total', { status }),
    lostLease: () => metrics.count('leases_lost_total', {}),
    scheduledReconciliations: (times) =>
      metrics.count('reconciliations_scheduled_total', {}, times),
    ranTask(task, seconds, did) {
      metrics.time('maintenance_duration_seconds', { task }, seconds)
      metrics.count('maintenance_failures_total', { task }, did === undefined ? 1 : 0)
      for (const [what, times] of Object.entries(did ?? {})) {
        metrics.count('maintenance_total', { task, what }, times)
      }
    },
  }
}

function storeObserver(metrics: Metrics): Pick<ApiObserver & EngineObserver, 'storeFailed'> {
  for (const kind of storeErrorKinds) metrics.count('store_errors_total', { kind }, 0)
  return { storeFailed: (kind) => metrics.count('store_errors_total', { kind }) }
}

function answersObserver(metrics: Metrics): AnswersObserver {
  for (const layer of answerLayers) {
    for (const result of lookUpResults) metrics.count('answer_lookups_total', { layer, result }, 0)
  }
  metrics.count('answer_copies_lost_total', {}, 0)
  metrics.set('circuit_open', { circuit: 'redis' }, 0)
  return {
    lookedUpAnswer: (layer, result) => metrics.count('answer_lookups_total', { layer, result }),
    calledRedis: (command, seconds) => metrics.time('redis_duration_seconds', { command }, seconds),
    lostCopy: () => metrics.count('answer_copies_lost_total', {}),
    turnedRedis: (isOpen) => metrics.set('circuit_open', { circuit: 'redis' }, Number(isOpen)),
  }
}
