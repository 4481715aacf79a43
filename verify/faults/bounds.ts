// The time limits of a run: how long recovery may take, and how soon new payments must succeed when
// PostgreSQL is back.
import type { Violation } from './results.ts'

/** How long recovery may take after the last fault: the limit of invariant 7. */
export const RECOVERY_LIMIT_SECONDS = 30
export const RECOVERY_LIMIT_MS = RECOVERY_LIMIT_SECONDS * 1_000

/** From when the server accepts connections until a payment begun then has succeeded. */
export const RETURN_LIMIT_MS = 2_000

/**
 * @param ms from the last fault to the last final answer; null: never, which other checks report.
 */
export function checkRecovery(ms: number | null): Violation[] {
  if (ms === null || ms <= RECOVERY_LIMIT_SECONDS * 1_000) return []
  const what = `recovery took ${Math.round(ms)} ms; the limit is ${RECOVERY_LIMIT_SECONDS} s`
  return [{ invariant: 7, what }]
}

/** @param isConcurrent in a soak, whose payments wait for the work that the outage has delayed. */
export function checkReturn(ms: number, isConcurrent: boolean): Violation[] {
  if (ms <= (isConcurrent ? RECOVERY_LIMIT_SECONDS * 1_000 : RETURN_LIMIT_MS)) return []
  const what = `the first payment after the outage took ${Math.round(ms)} ms`
  return [{ invariant: 7, what, isLate: true }]
}
