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

/** Runs the work. Returns its duration in milliseconds and its result. */
export async function timed<Result>(
  work: () => Promise<Result>,
): Promise<{ ms: number; result: Result }> {
  const beganAt = performance.now()
  const result = await work()
  return { ms: performance.now() - beganAt, result }
}
