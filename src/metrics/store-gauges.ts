// The gauges that are read from the store. Scrapes cannot load it, however many come: one reading is
// shared by all of a few seconds, and there is never a second one beside it.
import type { HealthFigures } from '../db/operators/health-figures.ts'
import type { GaugeValues, Metrics } from './metrics.ts'

/** Below the interval of any scraper, so that each scrape of one alone is fresh. */
const KEPT_MS = 5_000

/** @param read rejects when the store does not answer; the gauges are absent then. */
export function exportStoreGauges(
  metrics: Metrics,
  read: () => Promise<HealthFigures>,
  monotonicMs: () => number,
): void {
  let reading: Promise<GaugeValues> | undefined
  let readAtMs = 0
  metrics.exportGauges(() => {
    if (reading === undefined || monotonicMs() - readAtMs >= KEPT_MS) {
      // Until it has come, everybody waits for this one.
      readAtMs = Infinity
      reading = read()
        // Why the store does not answer is logged by those who work with it.
        .then(gaugesOf, () => ({}))
        .finally(() => (readAtMs = monotonicMs()))
    }
    return reading
  })
}

function gaugesOf(figures: HealthFigures): GaugeValues {
  const { pending, processing, unknown } = figures
  return {
    findings_open: [{ labels: {}, value: figures.findingsOpen }],
    operations: labelled('status', { pending, processing, unknown }),
    oldest_unfinished_operation_seconds: [{ labels: {}, value: figures.oldestUnfinishedSeconds }],
    oldest_unknown_operation_seconds: [{ labels: {}, value: figures.oldestUnknownSeconds }],
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
