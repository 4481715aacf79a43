// Windows of time, in UTC: what a comparison is asked to go through.
import type { Window } from '../provider/payment-provider.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

/** The day before the one that it is now. */
export function yesterday(now: Date): Window {
  const midnight = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  return { from: new Date(midnight - DAY_MS), to: new Date(midnight) }
}

/** The window between what is given; when only one end is, the day from or until there. */
export function windowOf(from: Date | undefined, to: Date | undefined, now: Date): Window {
  if (from !== undefined) return { from, to: to ?? new Date(from.getTime() + DAY_MS) }
  return to === undefined ? yesterday(now) : { from: new Date(to.getTime() - DAY_MS), to }
}
