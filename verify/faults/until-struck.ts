// Repeats a run until all of its faults were injected, because a run without them proves nothing.
import { isWorthRepeating, type RunResult } from './results.ts'

/** The order of concurrent messages may hide a point once. */
export const MOST_TRIES = 3

interface Made {
  readonly result: RunResult
}

/**
 * Returns the attempt with the most injected faults. An attempt with violations is the last one.
 *
 * @param tries when some faults were injected, but not all. A run without any of them is always
 *   tried `MOST_TRIES` times.
 */
export async function untilStruck<Run extends Made>(
  make: () => Promise<Run>,
  signal: AbortSignal,
  tries = MOST_TRIES,
): Promise<Run> {
  let kept = await make()
  for (let made = 1; !signal.aborted && isWorthRepeating(kept.result); made += 1) {
    const { struck } = kept.result
    if (made >= (struck === 0 ? MOST_TRIES : tries)) break
    const next = await make()
    const showsLess = isWorthRepeating(next.result) && next.result.struck < struck
    if (!showsLess) kept = next
  }
  return kept
}
