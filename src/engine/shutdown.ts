// The shutdown of a worker, as seen by its runs. Runs get a grace period to end their phase. A run
// that does not end in time is handed over, so another worker continues at once, without waiting
// for the lease.
import type { Clock } from './clock.ts'

export interface Shutdown {
  /** Aborted when the remaining runs must be handed over. */
  readonly due: AbortSignal
  /** Milliseconds until `due`; undefined while the process is not stopping. */
  leftMs(): number | undefined
}

/**
 * The share of a shutdown that is reserved for handing over and closing. pg-boss polls once a
 * second.
 */
const CLOSING_SHARE = 0.25
const CLOSING_MAX_MS = 2_000

/** @param timeoutMs after which the process exits, counted from `begin`. */
export function createShutdown(
  clock: Pick<Clock, 'monotonicMs'>,
  timeoutMs: number,
): Shutdown & { begin(): void } {
  const due = new AbortController()
  const graceMs = timeoutMs - Math.min(CLOSING_MAX_MS, timeoutMs * CLOSING_SHARE)
  let dueAtMs: number | undefined
  return {
    due: due.signal,
    leftMs: () => (dueAtMs === undefined ? undefined : dueAtMs - clock.monotonicMs()),
    begin() {
      dueAtMs ??= clock.monotonicMs() + graceMs
      setTimeout(() => due.abort(), graceMs).unref()
    },
  }
}

/** The result of the work, or undefined when it has not ended when `due` is aborted. */
export async function beforeDue<Value>(
  shutdown: Pick<Shutdown, 'due'> | undefined,
  work: Promise<Value>,
): Promise<Value | undefined> {
  if (shutdown === undefined) return await work
  const { due } = shutdown
  const interrupted = Promise.withResolvers<undefined>()
  const end = () => interrupted.resolve(undefined)
  due.addEventListener('abort', end, { once: true })
  if (due.aborted) end()
  try {
    return await Promise.race([work, interrupted.promise])
  } finally {
    due.removeEventListener('abort', end)
  }
}
