// The end of a worker as its runs see it. Told to stop, they have a while to end their phase; what cannot
// end by then is handed over, so that another worker goes on at once and waits for no lease.
import type { Clock } from './engine.ts'

export interface Shutdown {
  /** Aborted when whatever still runs has to be handed over. */
  readonly due: AbortSignal
  /** How long it is until then, in milliseconds; undefined while nobody has told us to stop. */
  leftMs(): number | undefined
}

/** The part of a stop that is kept free for handing over and closing. pg-boss looks once in a second. */
const CLOSING_SHARE = 0.25
const CLOSING_MAX_MS = 2_000

/** @param timeoutMs after which the process ends itself, counted from `begin`. */
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

/** What the work comes to, or undefined when it is not over when it has to be handed over. */
export async function beforeDue<Value>(
  shutdown: Pick<Shutdown, 'due'> | undefined,
  work: Promise<Value>,
): Promise<Value | undefined> {
  if (shutdown === undefined) return await work
  const { due } = shutdown
  const over = Promise.withResolvers<undefined>()
  const end = () => over.resolve(undefined)
  due.addEventListener('abort', end, { once: true })
  if (due.aborted) end()
  try {
    return await Promise.race([work, over.promise])
  } finally {
    due.removeEventListener('abort', end)
  }
}
