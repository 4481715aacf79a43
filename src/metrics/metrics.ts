// The metrics of one process, created from the table of definitions. Each instance has its own
// registry, so two instances in one process are independent.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import {
  definitions,
  PREFIX,
  type Definition,
  type LabelsOf,
  type MetricName,
  type NameOf,
} from './definitions.ts'

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
