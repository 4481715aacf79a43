// Whether a curve is flat: the rule is the same for all, and simple enough to be done by hand.

export type Verdict = 'flat' | 'GROWS' | 'not judged'

/** What a curve may do and still be flat. */
export interface Tolerance {
  /** By which factor the end may exceed the middle. */
  readonly factor: number
  /** And by how much beyond that, in the unit of the curve: what is so small is nobody's concern. */
  readonly slack: number
}

export interface Judged {
  /** Medians of the middle third and of the last third of the samples. */
  readonly middle: number | null
  readonly last: number | null
  readonly verdict: Verdict
}

/** So many samples in a third at the least: fewer have no median worth the name. */
const SAMPLES_MIN = 3

/**
 * The median of the last third against that of the middle third. The first third does not count: caches
 * fill, code is compiled, and vacuum has not been there yet. It GROWS when the last one is above the middle
 * one times the factor, plus the slack. Samples without a value are left out.
 */
export function judge(values: readonly (number | null)[], tolerance: Tolerance | null): Judged {
  const third = Math.floor(values.length / 3)
  const middle = medianOf(values.slice(third, values.length - third))
  const last = medianOf(values.slice(values.length - third))
  if (middle === null || last === null || tolerance === null)
    return { middle, last, verdict: 'not judged' }
  const grows = last > middle * tolerance.factor + tolerance.slack
  return { middle, last, verdict: grows ? 'GROWS' : 'flat' }
}

/** Null when there are too few. */
function medianOf(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b)
  if (sorted.length < SAMPLES_MIN) return null
  return sorted[Math.floor(sorted.length / 2)] ?? null
}
