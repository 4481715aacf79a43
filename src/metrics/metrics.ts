// The metrics of one process, created from the table of definitions. Each instance has its own
// registry, so two instances in one process are independent.
// A label has few values: words from our own code, route patterns, or the ids of a limited number of tenants.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Definition {
  /** `gauge`: a gauge that is read from the store. `state`: a gauge of this process itself. */
  readonly kind: 'counter' | 'histogram' | 'gauge' | 'state'
  readonly labels: readonly string[]
  readonly help: string
}

export const PREFIX = 'atomic_payments_'

// prettier-ignore
export const definitions = {
  reservations_total: { kind: 'counter', labels: ['result'],
    help: 'Keyed requests, by the result of reserving their key. Requests refused for their content are not counted.' },
  tenant_requests_total: { kind: 'counter', labels: ['tenant'],
    help: 'Keyed requests by tenant id, for the hundred tenants with the most requests of the process lately. The others are counted as "other".' },
  tenant_duplicates_total: { kind: 'counter', labels: ['tenant'],
    help: 'Requests of tenant_requests_total whose operation already existed.' },
  tenant_misuse_total: { kind: 'counter', labels: ['tenant'],
    help: 'Requests of tenant_requests_total whose idempotency key belongs to another request.' },
  http_request_duration_seconds: { kind: 'histogram', labels: ['method', 'route', 'status'],
    help: 'Time to answer a request, by route pattern and status class (2xx). Includes the time a request waits for its result.' },
  refusals_total: { kind: 'counter', labels: ['reason'],
    help: 'Requests refused because of a limit, by problem type: rate-limited, overloaded...' },
  circuit_open: { kind: 'state', labels: ['circuit'],
    help: '1 while the circuit (store_reads, store_reservations, provider or redis) is open after failures, 0 otherwise.' },
  answer_lookups_total: { kind: 'counter', labels: ['layer', 'result'],
    help: 'Lookups of answers before the database, by layer (memory or redis) and result: hit, miss, error, or skipped while Redis does not answer.' },
  answer_copies_lost_total: { kind: 'counter', labels: [],
    help: 'Copies of answers that Redis did not take, because it is full, read-only or did not answer.' },
  redis_duration_seconds: { kind: 'histogram', labels: ['command'],
    help: 'Time until Redis answers a command (get or set), or until it is given up.' },
  store_errors_total: { kind: 'counter', labels: ['kind'],
    help: 'Statements and transactions that PostgreSQL could not serve: unreachable, timeout, exhausted, failed, unusable or conflict.' },
  phase_duration_seconds: { kind: 'histogram', labels: ['operation', 'phase'],
    help: 'Time of an atomic phase: all tries of its provider call, and the record.' },
  outcomes_total: { kind: 'counter', labels: ['operation', 'phase', 'provider', 'outcome'],
    help: 'Tries of provider calls, by provider and outcome: done, declined, not_executed or unknown.' },
  provider_rate_limited_total: { kind: 'counter', labels: ['provider', 'reason'],
    help: 'Requests that a provider refused because of its limits, by its reason: global-rate, endpoint-rate, lock_timeout...' },
  provider_clock_apart_seconds: { kind: 'state', labels: ['provider'],
    help: "How far the clock of this worker is from the provider's, by the Date of its last answer." },
  events_total: { kind: 'counter', labels: ['type'],
    help: 'Events inserted with a recorded change, by type. Without those of accepted requests (reservations_total) and of runs without a final outcome (operations_given_back_total).' },
  leases_lost_total: { kind: 'counter', labels: [],
    help: 'Runs of operations that ended because another owner took over.' },
  operations_given_back_total: { kind: 'counter', labels: ['status'],
    help: 'Runs that ended without a final outcome, by the status in which they left the operation.' },
  maintenance_total: { kind: 'counter', labels: ['task', 'what'],
    help: 'Results of the maintenance tasks: sweeper ("sweep"), outcome resolver ("check"), reconciliation ("reconcile"), reaper ("reap"), retention ("prune"), ends of holds ("watch"), stalled sessions ("disconnect").' },
  reconciliations_scheduled_total: { kind: 'counter', labels: [],
    help: 'Daily reconciliations that the schedule requested.' },
  maintenance_duration_seconds: { kind: 'histogram', labels: ['task'],
    help: 'Time of one run of a maintenance task, including failed runs.' },
  maintenance_failures_total: { kind: 'counter', labels: ['task'],
    help: 'Failed runs of a maintenance task.' },

  worker_queues: { kind: 'state', labels: ['group'],
    help: '1 for each group of queues that this worker works on (WORKER_QUEUES): payments, webhooks, maintenance.' },

  // The worker reads these from the store when it is scraped. They are absent while the store does
  // not answer.
  findings_open: { kind: 'gauge', labels: [],
    help: 'Findings that wait for an operator.' },
  disputes: { kind: 'gauge', labels: ['status'],
    help: 'Disputes that are not closed, by their status at the provider. Counted up to 10000.' },
  operations: { kind: 'gauge', labels: ['status'],
    help: 'Unfinished operations: pending, processing or unknown. Counted up to 10000.' },
  oldest_unfinished_operation_seconds: { kind: 'gauge', labels: [],
    help: 'Time since the oldest pending or processing operation was accepted; 0 without one.' },
  oldest_unknown_operation_seconds: { kind: 'gauge', labels: [],
    help: 'Time since the oldest unknown outcome became unknown; 0 without one.' },
  queue_depth: { kind: 'gauge', labels: ['queue'],
    help: 'Due jobs that no worker has fetched. Counted up to 10000.' },
  webhook_endpoints_stopped: { kind: 'gauge', labels: ['state'],
    help: 'Webhook endpoints that are paused by their circuit breaker or disabled. Counted up to 10000.' },
  dead_letters: { kind: 'gauge', labels: ['queue'],
    help: 'Jobs in a dead-letter queue, which wait for an operator. Counted up to 10000.' },
} as const satisfies Readonly<Record<string, Definition>>

type MetricName = keyof typeof definitions

/** The labels of a metric, each with its value. */
type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof definitions)[Name]['labels'][number], string>
>

/** The metrics of one kind. */
type NameOf<Kind extends Definition['kind']> = {
  [Name in MetricName]: (typeof definitions)[Name]['kind'] extends Kind ? Name : never
}[MetricName]

export interface Metrics {
  /** Adds to a counter. */
  count<Name extends NameOf<'counter'>>(name: Name, labels: LabelsOf<Name>, by?: number): void
  /** Ends a series of a counter. When it is counted again, it starts at 0, as after a restart. */
  remove<Name extends NameOf<'counter'>>(name: Name, labels: LabelsOf<Name>): void
  /** Adds a time to a histogram. */
  time<Name extends NameOf<'histogram'>>(name: Name, labels: LabelsOf<Name>, seconds: number): void
  /** Sets the gauge for a state of this process. */
  set<Name extends NameOf<'state'>>(name: Name, labels: LabelsOf<Name>, value: number): void
  /** Exports gauges whose values are read for each scrape. A gauge without a value is absent. */
  exportGauges(read: () => Promise<GaugeValues>): void
  /** Exports Node's metrics of its process: memory, CPU, event loop, file descriptors. */
  exportProcess(): void
  readonly contentType: string
  /** Returns all metrics in the text format of Prometheus. */
  scrape(): Promise<string>
}

/** The values of each gauge, with their labels. */
export type GaugeValues = {
  readonly [Name in NameOf<'gauge'>]?: readonly {
    readonly labels: LabelsOf<Name>
    readonly value: number
  }[]
}

/** From one or two statements, over a request, to a call that times out and is retried. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export function createMetrics(): Metrics {
  const registry = new Registry()
  const counters = make(registry, 'counter', (options) => new Counter(options))
  const histograms = make(
    registry,
    'histogram',
    (options) => new Histogram({ ...options, buckets: BUCKETS_SECONDS }),
  )
  const states = make(registry, 'state', (options) => new Gauge(options))
  let readGauges: (() => Promise<void>) | undefined
  return {
    count: (name, labels, by = 1) => counters[name].inc(labels, by),
    remove: (name, labels) => counters[name].remove(labels),
    time: (name, labels, seconds) => histograms[name].observe(labels, seconds),
    set: (name, labels, value) => states[name].set(labels, value),
    exportGauges(read) {
      const gauges = make(registry, 'gauge', (options) => new Gauge(options))
      readGauges = async () => setGauges(gauges, await read())
    },
    exportProcess: () => collectDefaultMetrics({ register: registry }),
    contentType: registry.contentType,
    async scrape() {
      await readGauges?.()
      return await registry.metrics()
    },
  }
}

interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labelNames: string[]
  readonly registers: Registry[]
}

/** Creates all metrics of one kind. */
function make<Kind extends Definition['kind'], Metric>(
  registry: Registry,
  kindToCreate: Kind,
  create: (options: MetricOptions) => Metric,
): Record<NameOf<Kind>, Metric> {
  const metrics = Object.entries(definitions)
    .filter(([, { kind }]) => kind === kindToCreate)
    .map(([name, { help, labels }]) => [
      name,
      create({ name: PREFIX + name, help, labelNames: [...labels], registers: [registry] }),
    ])
  return Object.fromEntries(metrics) as Record<NameOf<Kind>, Metric>
}

function setGauges(gauges: Record<NameOf<'gauge'>, Gauge>, values: GaugeValues): void {
  for (const [name, gauge] of Object.entries(gauges)) {
    gauge.reset()
    // Without labels a reset leaves a zero, which would look as if all were well.
    if (definitions[name as MetricName].labels.length === 0) gauge.remove()
    for (const { labels, value } of values[name as NameOf<'gauge'>] ?? []) gauge.set(labels, value)
  }
}
