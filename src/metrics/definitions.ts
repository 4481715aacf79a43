// Every metric that this service exports of itself, in one table: its kind, labels and meaning. A label
// takes few values: words of our own code, route patterns, or the ids of a bounded number of tenants.

export interface Definition {
  /** `gauge`: read from the store; `state`: a gauge, too, of this process itself. */
  readonly kind: 'counter' | 'histogram' | 'gauge' | 'state'
  readonly labels: readonly string[]
  readonly help: string
}

export const PREFIX = 'atomic_payments_'

// prettier-ignore
export const definitions = {
  reservations_total: { kind: 'counter', labels: ['result'],
    help: 'Keyed requests, by what became of their key. Those refused for what they ask are not counted.' },
  tenant_requests_total: { kind: 'counter', labels: ['tenant'],
    help: 'Keyed requests of each tenant, by its id; of those beyond the first hundred as tenant "other".' },
  tenant_duplicates_total: { kind: 'counter', labels: ['tenant'],
    help: 'Those of tenant_requests_total that named an operation which was there already.' },
  http_request_duration_seconds: { kind: 'histogram', labels: ['method', 'route', 'status'],
    help: 'Time to answer a request, by route pattern and class of status (2xx). Its waiting is part of it.' },
  refusals_total: { kind: 'counter', labels: ['reason'],
    help: 'Requests that were refused for want of room, by the type of their problem, such as rate-limited or overloaded.' },
  circuit_open: { kind: 'state', labels: ['circuit'],
    help: '1 while what failed repeatedly is not asked: store_reads, store_reservations or provider; 0 else.' },
  phase_duration_seconds: { kind: 'histogram', labels: ['operation', 'phase'],
    help: 'Time of an atomic phase: the foreign call with its tries, and the record of it.' },
  outcomes_total: { kind: 'counter', labels: ['operation', 'phase', 'outcome'],
    help: 'Foreign calls, each try one, by what they told: done, declined, not_executed or unknown.' },
  leases_lost_total: { kind: 'counter', labels: [],
    help: 'Runs of operations that ended because another owner had taken over.' },
  operations_given_back_total: { kind: 'counter', labels: ['status'],
    help: 'Runs that settled nothing, by the status in which they left the operation.' },
  maintenance_total: { kind: 'counter', labels: ['task', 'what'],
    help: 'What the maintenance tasks did: swept (task "sweep"), reconciled ("check", "reconcile"), reaped ("reap").' },
  maintenance_duration_seconds: { kind: 'histogram', labels: ['task'],
    help: 'Time of one run of a maintenance task, also of one that failed; its count is that of the runs.' },
  maintenance_failures_total: { kind: 'counter', labels: ['task'],
    help: 'Runs of a maintenance task that failed.' },

  // Read from the store by the worker when it is scraped; absent while the store does not answer.
  findings_open: { kind: 'gauge', labels: [],
    help: 'Findings that wait for a person.' },
  operations: { kind: 'gauge', labels: ['status'],
    help: 'Operations that are not finished: pending, processing or unknown. Counted up to 10000.' },
  oldest_unfinished_operation_seconds: { kind: 'gauge', labels: [],
    help: 'Age of the oldest operation that is pending or processing, from its acceptance; 0 without one.' },
  oldest_unknown_operation_seconds: { kind: 'gauge', labels: [],
    help: 'Time since the outcome that is unknown for longest became so; 0 without one.' },
  queue_depth: { kind: 'gauge', labels: ['queue'],
    help: 'Jobs whose time has come and that no worker has taken. Counted up to 10000.' },
  dead_letters: { kind: 'gauge', labels: ['queue'],
    help: 'Jobs in a dead-letter queue, which wait for a person. Counted up to 10000.' },
} as const satisfies Readonly<Record<string, Definition>>

export type MetricName = keyof typeof definitions

/** The labels of a metric, each with its value. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof definitions)[Name]['labels'][number], string>
>

/** The metrics of one kind. */
export type NameOf<Kind extends Definition['kind']> = {
  [Name in MetricName]: (typeof definitions)[Name]['kind'] extends Kind ? Name : never
}[MetricName]
