// Lets requests wait until nobody works on their operation any more. Workers announce that through
// Postgres; because an announcement can be lost, all that wait are looked up together now and then.
import type { Logger } from 'pino'
import type { Sql } from '../db/client.ts'
import { findSettled } from '../db/idempotency-keys.ts'
import { SETTLED_CHANNEL } from '../db/notifications.ts'
import type { OperationRef } from '../domain/operation.ts'

/** How long a lost announcement delays an answer at most, in milliseconds. */
const LOOK_UP_INTERVAL_MS = 250

export interface SettlementWatch {
  /** Resolves when the operation is settled, the time is up, the signal aborts or the watch stops. */
  wait(ref: OperationRef, timeoutMs: number, signal: AbortSignal): Promise<void>
  /** How many requests wait now. */
  waiting(): number
  /** Releases all that wait, and any who come later, at once. */
  stop(): Promise<void>
}

/** The requests that wait for one operation. */
interface Waiters {
  readonly ref: OperationRef
  readonly releases: Set<() => void>
}

/** @param most how many may wait; whoever comes beyond that is released at once. */
export function startSettlementWatch(
  sql: Sql,
  log: Logger,
  most = Number.POSITIVE_INFINITY,
): SettlementWatch {
  const waiters = new Map<string, Waiters>()
  let waiting = 0
  let stopped = false

  const release = (id: string) => waiters.get(id)?.releases.forEach((done) => done())
  const lookUp = async () => {
    if (waiters.size === 0) return
    const refs = [...waiters.values()].map(({ ref }) => ref)
    for (const id of await findSettled(sql, refs)) release(id)
  }
  const lookUpOrLog = () =>
    lookUp().catch((error: unknown) => log.warn({ err: error }, 'could not look up who waits'))

  // After a reconnection announcements may have been missed, so the callback looks everyone up.
  const subscription = sql.listen(
    SETTLED_CHANNEL,
    (payload) => payload.split(',').forEach(release),
    () => void lookUpOrLog(),
  )
  subscription.catch((error: unknown) => log.warn({ err: error }, 'no announcements, polling only'))
  const timer = setInterval(() => void lookUpOrLog(), LOOK_UP_INTERVAL_MS)
  timer.unref()

  return {
    async wait(ref, timeoutMs, signal) {
      if (timeoutMs <= 0 || stopped || signal.aborted || waiting >= most) return
      waiting += 1
      const together = waiters.get(ref.id) ?? { ref, releases: new Set() }
      waiters.set(ref.id, together)
      await new Promise<void>((resolve) => {
        const done = () => {
          if (!together.releases.delete(done)) return
          waiting -= 1
          clearTimeout(timeout)
          signal.removeEventListener('abort', done)
          if (together.releases.size === 0) waiters.delete(ref.id)
          resolve()
        }
        const timeout = setTimeout(done, timeoutMs)
        signal.addEventListener('abort', done)
        together.releases.add(done)
      })
    },
    waiting: () => waiting,
    async stop() {
      stopped = true
      clearInterval(timer)
      for (const id of waiters.keys()) release(id)
      await subscription.then((listening) => listening.unlisten()).catch(() => {})
    },
  }
}
