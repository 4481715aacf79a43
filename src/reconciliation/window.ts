// Computes the time window, in UTC, of a reconciliation.
import type { Window } from '../provider/payment-provider.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

/** The last complete day. */
export function yesterday(now: Date): Window {
  const midnight = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  return { from: new Date(midnight - DAY_MS), to: new Date(midnight) }
}

/**
 * The window between the given times. With one time only, it is the day after or before that time.
 */
export function windowOf(from: Date | undefined, to: Date | undefined, now: Date): Window {
  if (from !== undefined) return { from, to: to ?? new Date(from.getTime() + DAY_MS) }
  return to === undefined ? yesterday(now) : { from: new Date(to.getTime() - DAY_MS), to }
}
