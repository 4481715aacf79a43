// Turns the reports of the API and of the engine into metrics.
import { answerLayers, lookUpResults, type AnswersObserver } from '../answers/answers.ts'
import {
  refusals,
  reservationResults,
  storeCircuits,
  type ApiObserver,
  type ReservationResult,
} from '../http/observer.ts'
import type { CircuitReport } from '../domain/deployment/service-process.ts'
import { storeErrorKinds } from '../db/connection/store-errors.ts'
import { observedEvents, type EngineObserver } from '../engine/observer.ts'
import type { Metrics } from './metrics.ts'

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

// Chooses the tenants that metrics name, and limits their number.

/**
 * Each tenant adds three series per API process, which Prometheus keeps for its whole retention
 * period. A hundred tenants show who retries too often; ten thousand would cost more than they are
 * worth.
 */
const TENANT_LABELS_MAX = 100

/** How many tenants are weighed: enough that a heavy one stays known among many light ones. */
const WEIGHED_MAX = 1_000

/** After so many requests all weights are halved, so that the heaviest of lately are named. */
const HALVED_AFTER = 100_000

/** A tenant must be clearly heavier than the lightest named one: each change ends a series. */
const HEAVIER = { times: 2, plus: 10 }

/** The label of all tenants that are not named. */
const OTHER_TENANTS = 'other'

/**
 * Returns a function from a tenant's id to its label: the id, for the tenants with the most requests
 * lately, otherwise `other`. Counts each call as a request. The tenants to weigh are
 * chosen as in the Space-Saving algorithm of Metwally et al. (2005).
 *
 * @param forget is called with the label of a tenant that is named no more.
 */
function createTenantLabels(forget: (label: string) => void): (tenantId: string) => string {
  const weights = new Map<string, number>()
  const named = new Set<string>()
  let requests = 0

  const weigh = (id: string): number => {
    let weight = weights.get(id)
    if (weight === undefined && weights.size >= WEIGHED_MAX) {
      const light = lightest(weights.keys(), weights)
      weight = weights.get(light)
      weights.delete(light)
      if (named.delete(light)) forget(light)
    }
    weights.set(id, (weight ?? 0) + 1)
    return (weight ?? 0) + 1
  }
  return (id) => {
    requests += 1
    if (requests % HALVED_AFTER === 0)
      for (const [of, weight] of weights) weights.set(of, weight / 2)
    const weight = weigh(id)
    if (named.has(id)) return id
    if (named.size >= TENANT_LABELS_MAX) {
      const light = lightest(named, weights)
      if (weight <= HEAVIER.times * (weights.get(light) ?? 0) + HEAVIER.plus) return OTHER_TENANTS
      named.delete(light)
      forget(light)
    }
    named.add(id)
    return id
  }
}

function lightest(ids: Iterable<string>, weights: ReadonlyMap<string, number>): string {
  let [found, least] = ['', Infinity]
  for (const id of ids) {
    const weight = weights.get(id) ?? 0
    if (weight < least) [found, least] = [id, weight]
  }
  return found
}

interface Circuits<Kind extends CircuitReport['kind']> {
  /** A circuit opened or closed. */
  readonly turned: (kind: Kind, isOpen: boolean) => void
  readonly read: () => CircuitReport[]
}

type ApiCircuits = Circuits<(typeof storeCircuits)[number]>
type WorkerCircuits = Circuits<'provider'>

export const apiCircuits = (): ApiCircuits => createCircuits(storeCircuits)

/** @param callsProvider false for a worker for webhooks alone. */
export const workerCircuits = (callsProvider: boolean): WorkerCircuits =>
  createCircuits(callsProvider ? ['provider'] : [])

/** The circuits are closed at first. */
function createCircuits<Kind extends CircuitReport['kind']>(
  kinds: readonly Kind[],
): Circuits<Kind> {
  const states = new Map(kinds.map((kind) => [kind, { isOpen: false, sinceMs: performance.now() }]))
  return {
    turned(kind, isOpen) {
      // From open to half-open it stays open.
      if (states.get(kind)?.isOpen !== isOpen) {
        states.set(kind, { isOpen, sinceMs: performance.now() })
      }
    },
    read: () =>
      [...states].map(([kind, { isOpen, sinceMs }]) => ({
        kind,
        state: isOpen ? 'open' : 'closed',
        seconds: Math.round((performance.now() - sinceMs) / 1_000),
      })),
  }
}
