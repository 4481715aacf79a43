// Waits for a condition, or for PostgreSQL, within a limit of time.
import { setTimeout as wait } from 'node:timers/promises'
import { isStoreUnavailable } from '../../src/db/connection/store-errors.ts'
import { RECOVERY_LIMIT_MS } from './results.ts'

const RETRY_PAUSE_MS = 10

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

/** Repeats a query of the suite itself while the run has PostgreSQL down, unless the signal is aborted. */
export async function retryWhileDown<Value>(
  ask: () => PromiseLike<Value>,
  signal?: AbortSignal,
): Promise<Value> {
  const endsAt = performance.now() + RECOVERY_LIMIT_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isOver = signal?.aborted === true || performance.now() > endsAt
      if (isOver || !isStoreUnavailable(error)) throw error
      await wait(RETRY_PAUSE_MS)
    }
  }
}
