// Waits for a condition, within a limit of time.
import { setTimeout as wait } from 'node:timers/promises'

interface PollOptions {
  readonly pauseMs?: number
  /** Aborted to stop the suite early. */
  readonly signal?: AbortSignal
}

/**
 * Returns whether the condition became true in time.
 *
 * @throws AbortError when the suite is stopped.
 */
export async function poll(
  limitMs: number,
  isReached: () => boolean | Promise<boolean>,
  { pauseMs = 40, signal }: PollOptions = {},
): Promise<boolean> {
  const endsAt = performance.now() + limitMs
  while (performance.now() < endsAt) {
    if (await isReached()) return true
    await wait(pauseMs, undefined, { ...(signal && { signal }) })
  }
  return false
}
