// Judges whether a curve is flat. The rule is the same for all curves and simple enough to check by
// hand.

type Verdict = 'flat' | 'GROWS' | 'not judged'

/** How much a curve may grow and still count as flat. */
export interface Tolerance {
  /** The factor by which the last third may exceed the middle third. */
  readonly factor: number
  /** The additional growth, in the unit of the curve, that is too small to matter. */
  readonly slack: number
}

export interface Judgement {
  /** Medians of the middle third and of the last third of the samples. */
  readonly middle: number | null
  readonly last: number | null
  readonly verdict: Verdict
}

/** The fewest samples of a third that give a meaningful median. */
const SAMPLES_MIN = 3

/**
 * Compares the median of the last third with that of the middle third. The curve GROWS when the
 * last median is above the middle median times the factor, plus the slack. The first third does not
 * count: caches fill, code is compiled, and autovacuum has not run yet. Samples without a value are
 * skipped.
 */
export function judge(values: readonly (number | null)[], tolerance: Tolerance | null): Judgement {
  const third = Math.floor(values.length / 3)
  const middle = medianOf(values.slice(third, values.length - third))
  const last = medianOf(values.slice(values.length - third))
  if (middle === null || last === null || tolerance === null)
    return { middle, last, verdict: 'not judged' }
  const grows = last > middle * tolerance.factor + tolerance.slack
  return { middle, last, verdict: grows ? 'GROWS' : 'flat' }
}

/** Returns null when there are too few samples. */
function medianOf(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b)
  if (sorted.length < SAMPLES_MIN) return null
  return sorted[Math.floor(sorted.length / 2)] ?? null
}
