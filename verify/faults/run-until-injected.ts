// Repeats a run until all of its faults were injected, because a run without them proves nothing.
import { isOnlyLate, shouldRepeat, type RunResult } from './results.ts'

/** The order of concurrent messages may hide a point, or end a contest before its fault, a few times. */
export const MAX_ATTEMPTS = 5

/** A busy machine exceeds a limit of seconds once; a service that is too slow exceeds it always. */
export const LATE_TRIES = 3

interface Attempt {
  readonly result: RunResult
}

/**
 * Returns the attempt with the most injected faults. An attempt with violations is the last one.
 *
 * @param tries when some faults were injected, but not all. A run without any of them is always
 *   tried `MAX_ATTEMPTS` times.
 */
export async function runUntilInjected<Run extends Attempt>(
  attempt: () => Promise<Run>,
  signal: AbortSignal,
  tries = MAX_ATTEMPTS,
): Promise<Run> {
  let best = await attempt()
  for (let attempts = 1; !signal.aborted && shouldRepeat(best.result); attempts += 1) {
    const { struck } = best.result
    if (attempts >= (struck === 0 ? MAX_ATTEMPTS : tries)) break
    const next = await attempt()
    const isWorse = shouldRepeat(next.result) && next.result.struck < struck
    if (!isWorse) best = next
  }
  return best
}

/** Repeats a run as `runUntilInjected` does, and while it fails for a limit of time alone. */
export async function runUntilInTime<Run extends Attempt>(
  attempt: () => Promise<Run>,
  signal: AbortSignal,
  tries = MAX_ATTEMPTS,
  onLate: (result: RunResult) => void = () => {},
): Promise<Run> {
  let made = await runUntilInjected(attempt, signal, tries)
  for (let times = 1; times < LATE_TRIES && isOnlyLate(made.result); times += 1) {
    if (signal.aborted) break
    onLate(made.result)
    made = await runUntilInjected(attempt, signal, tries)
  }
  return made
}
