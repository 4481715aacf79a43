// Summarizes measured times as count, median, percentiles and maximum.

/** Times in milliseconds. */
export interface Spread {
  readonly count: number
  readonly median: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

export function spreadOf(timesMs: readonly number[]): Spread {
  const sorted = timesMs.toSorted((a, b) => a - b)
  const at = (share: number) => rounded(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
  return { count: sorted.length, median: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

/** Rounds to hundredths: smaller differences are noise. */
export function rounded(number: number): number {
  return Math.round(number * 100) / 100
}

/** Returns 0 for no figures. Of an even number the upper one of the middle. */
export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  return rounded(sorted[Math.floor(sorted.length / 2)] ?? 0)
}

/** Runs the work. Returns its duration in milliseconds and its result. */
export async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ ms: number; result: Result }> {
  const beganAt = performance.now()
  const result = await work()
  return { ms: performance.now() - beganAt, result }
}
