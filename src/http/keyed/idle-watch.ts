// Lets requests wait until nobody works on their operation any more. Workers announce that through
// Postgres, and those who wait for what was announced together are looked up together. Because an
// announcement can be lost, all that wait are looked up now and then.
import type { Logger } from 'pino'
import type { Sql } from '../../db/connection/client.ts'
import { findIdle } from '../../db/idempotency/idempotency-keys.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import { IDLE_CHANNEL } from '../../db/connection/notifications.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'

/** How long a lost announcement delays an answer at most, in milliseconds. */
const LOOK_UP_INTERVAL_MS = 250

export interface IdleWatch {
  /**
   * Resolves with the settled key, or with nothing when it is not known to be settled: the time is up, the
   * signal aborts, the watch stops, or what was announced could not be read.
   */
  wait(
    ref: OperationRef,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<IdempotencyKey | undefined>
  /** How many requests wait now. */
  waiting(): number
  /** Releases all that wait, and any who come later, at once. */
  stop(): Promise<void>
}

/** The requests that wait for one operation. */
interface Waiters {
  readonly ref: OperationRef
  readonly releases: Set<(settled?: IdempotencyKey) => void>
}

/** @param most how many may wait; whoever comes beyond that is released at once. */
export function startIdleWatch(sql: Sql, log: Logger, most = Number.POSITIVE_INFINITY): IdleWatch {
  const waiters = new Map<string, Waiters>()
  let waiting = 0
  let stopped = false

  const release = (id: string, settled?: IdempotencyKey) =>
    waiters.get(id)?.releases.forEach((done) => done(settled))
  const lookUp = async (looked: readonly Waiters[]) => {
    if (looked.length === 0) return
    try {
      const refs = looked.map(({ ref }) => ref)
      for (const key of await findIdle(sql, refs)) release(key.id, key)
    } catch (error) {
      log.warn({ err: error }, 'could not look up who waits')
    }
  }
  const lookUpAll = () => void lookUp([...waiters.values()])
  const hear = async (ids: readonly string[]) => {
    await lookUp(ids.flatMap((id) => waiters.get(id) ?? []))
    // Whoever was not found reads by itself: its key is gone, or the store is out of reach.
    for (const id of ids) release(id)
  }

  // After a reconnection announcements may have been missed, so the callback looks everyone up.
  const subscription = sql.listen(
    IDLE_CHANNEL,
    (payload) => void hear(payload.split(',')),
    lookUpAll,
  )
  subscription.catch((error: unknown) => log.warn({ err: error }, 'no announcements, polling only'))
  const timer = setInterval(lookUpAll, LOOK_UP_INTERVAL_MS)
  timer.unref()

  return {
    async wait(ref, timeoutMs, signal) {
      if (timeoutMs <= 0 || stopped || signal.aborted || waiting >= most) return undefined
      waiting += 1
      const together = waiters.get(ref.id) ?? { ref, releases: new Set() }
      waiters.set(ref.id, together)
      return await new Promise((resolve) => {
        const done = (settled?: IdempotencyKey) => {
          if (!together.releases.delete(done)) return
          waiting -= 1
          clearTimeout(timeout)
          signal.removeEventListener('abort', giveUp)
          if (together.releases.size === 0) waiters.delete(ref.id)
          resolve(settled)
        }
        const giveUp = () => done()
        const timeout = setTimeout(giveUp, timeoutMs)
        signal.addEventListener('abort', giveUp)
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
