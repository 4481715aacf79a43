// Exports the gauges that are read from the store. Frequent scrapes cannot overload the store: all
// scrapes within a few seconds share one reading, and readings never run concurrently.
import type { HealthFigures } from '../db/operators/health-figures.ts'
import type { GaugeValues, Metrics } from './metrics.ts'

/**
 * Shorter than the interval of any scraper, so that a single scraper always gets a fresh reading.
 */
const KEPT_MS = 5_000

/** @param read rejects when the store does not answer; then the gauges are absent. */
export function exportStoreGauges(
  metrics: Metrics,
  read: () => Promise<HealthFigures>,
  monotonicMs: () => number,
): void {
  let reading: Promise<GaugeValues> | undefined
  let readAtMs = 0
  metrics.exportGauges(() => {
    if (reading === undefined || monotonicMs() - readAtMs >= KEPT_MS) {
      // Until this reading ends, all scrapes wait for it.
      readAtMs = Infinity
      reading = read()
        // The store's users log why it does not answer.
        .then(gaugesOf, () => ({}))
        .finally(() => (readAtMs = monotonicMs()))
    }
    return reading
  })
}

function gaugesOf(figures: HealthFigures): GaugeValues {
  const { pending, processing, unknown } = figures
  const { pausedEndpoints: paused, disabledEndpoints: disabled } = figures
  return {
    findings_open: [{ labels: {}, value: figures.findingsOpen }],
    disputes: labelled('status', figures.disputes),
    operations: labelled('status', { pending, processing, unknown }),
    oldest_unfinished_operation_seconds: [{ labels: {}, value: figures.oldestUnfinishedSeconds }],
    oldest_unknown_operation_seconds: [{ labels: {}, value: figures.oldestUnknownSeconds }],
    webhook_endpoints_stopped: labelled('state', { paused, disabled }),
    queue_depth: labelled('queue', figures.queues),
    dead_letters: labelled('queue', figures.deadLetters),
  }
}

function labelled<Label extends string>(label: Label, values: Readonly<Record<string, number>>) {
  return Object.entries(values).map(([name, value]) => ({
    labels: { [label]: name } as Record<Label, string>,
    value,
  }))
}
