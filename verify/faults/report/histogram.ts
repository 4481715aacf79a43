// Counts runs by recovery time, in steps that grow with the time.

export interface Histogram {
  readonly labels: readonly string[]
  readonly runs: readonly number[]
}

/** Where each step begins, in milliseconds. A step ends where the next one begins. */
const STEPS_MS = [0, 100, 200, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 30_000]

export function histogramOf(timesMs: readonly number[]): Histogram {
  const runs = STEPS_MS.map((from, index) => {
    const to = STEPS_MS[index + 1] ?? Infinity
    return timesMs.filter((ms) => ms >= from && ms < to).length
  })
  return { labels: STEPS_MS.map(labelOf), runs }
}

function labelOf(from: number, index: number): string {
  const to = STEPS_MS[index + 1]
  if (to === undefined) return `over ${show(from)}`
  return from === 0 ? `under ${show(to)}` : `${show(from)} to ${show(to)}`
}

function show(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`
}
