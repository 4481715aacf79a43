// A run whose strikes have not all found their points shows nothing, and is made again.
import { isWorthRepeating, type RunResult } from './results.ts'

/** The order of concurrent messages may hide a point for once. */
export const MOST_TRIES = 3

interface Made {
  readonly result: RunResult
}

/**
 * Of the tries that missed a strike, the one that was struck most often; one that broke something is the last.
 *
 * @param tries of what was struck, but less often than it was to be; what was never struck is tried for as often as
 * may be.
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
