// Lets requests wait until their operation is idle. Workers announce idle operations through
// Postgres, and operations announced together are looked up together. Because an announcement can
// be lost, all awaited operations are also looked up at an interval.
import type { Logger } from 'pino'
import type { Store } from '../../db/connection/client.ts'
import { findIdle, type IdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import { createCounts, shareOf } from '../../domain/tenants/tenant-counts.ts'
import { IDLE_CHANNEL } from '../../db/connection/notifications.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'

/** The longest time by which a lost announcement delays an answer. */
const LOOK_UP_INTERVAL_MS = 250

export interface IdleWatch {
  /**
   * Resolves with the key of the idle operation. Resolves with undefined when the time is up, the
   * signal aborts, the watch stops, or the announced operation could not be read; it may be idle
   * nevertheless.
   */
  wait(
    ref: OperationRef,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<IdempotencyKey | undefined>
  /** Calls the function with the ids of operations that were announced as idle, from now on. */
  onIdle(receive: (ids: readonly string[]) => void): void
  /** The number of requests that wait now; of one tenant, if it is named. */
  waiting(tenantId?: string): number
  /** Releases all requests that wait. Later calls of `wait` return at once. */
  stop(): void
}

/** The requests that wait for one operation. */
interface Waiters {
  readonly ref: OperationRef
  readonly releases: Set<(idleKey?: IdempotencyKey) => void>
}

/**
 * @param most how many requests may wait, those of one tenant in half of the places. Further ones
 *   are released at once.
 */
export function startIdleWatch(
  { sql, listen }: Pick<Store, 'sql' | 'listen'>,
  log: Logger,
  most = Number.POSITIVE_INFINITY,
): IdleWatch {
  const waiters = new Map<string, Waiters>()
  const receivers: ((ids: readonly string[]) => void)[] = []
  const waiting = createCounts()
  const mostOfTenant = shareOf(most)
  let stopped = false

  const release = (id: string, idleKey?: IdempotencyKey) =>
    waiters.get(id)?.releases.forEach((releaseOne) => releaseOne(idleKey))
  const lookUp = async (awaited: readonly Waiters[]) => {
    if (awaited.length === 0) return
    try {
      const refs = awaited.map(({ ref }) => ref)
      for (const key of await findIdle(sql, refs)) release(key.id, key)
    } catch (error) {
      log.warn({ err: error }, 'could not look up the operations that requests wait for')
    }
  }
  const lookUpAll = () => void lookUp([...waiters.values()])
  const handleAnnouncement = async (ids: readonly string[]) => {
    await lookUp(ids.flatMap((id) => waiters.get(id) ?? []))
    // A request whose key was not found reads it itself: the key is gone, or the store is
    // unavailable.
    for (const id of ids) release(id)
    for (const receive of receivers) receive(ids)
  }

  listen(
    IDLE_CHANNEL,
    (payload) => void handleAnnouncement(payload.split(',')),
    // Announcements may have been missed.
    (isListening) => isListening && lookUpAll(),
  )
  const timer = setInterval(lookUpAll, LOOK_UP_INTERVAL_MS)
  timer.unref()

  return {
    async wait(ref, timeoutMs, signal) {
      const isFull = waiting.all() >= most || waiting.of(ref.tenantId) >= mostOfTenant
      if (timeoutMs <= 0 || stopped || signal.aborted || isFull) return undefined
      waiting.add(ref.tenantId, 1)
      const waitersOfKey = waiters.get(ref.id) ?? { ref, releases: new Set() }
      waiters.set(ref.id, waitersOfKey)
      return await new Promise((resolve) => {
        const releaseOne = (idleKey?: IdempotencyKey) => {
          if (!waitersOfKey.releases.delete(releaseOne)) return
          waiting.add(ref.tenantId, -1)
          clearTimeout(timeout)
          signal.removeEventListener('abort', giveUp)
          if (waitersOfKey.releases.size === 0) waiters.delete(ref.id)
          resolve(idleKey)
        }
        const giveUp = () => releaseOne()
        const timeout = setTimeout(giveUp, timeoutMs)
        signal.addEventListener('abort', giveUp)
        waitersOfKey.releases.add(releaseOne)
      })
    },
    onIdle: (receive) => void receivers.push(receive),
    waiting: (tenantId) => (tenantId === undefined ? waiting.all() : waiting.of(tenantId)),
    stop() {
      stopped = true
      clearInterval(timer)
      for (const id of waiters.keys()) release(id)
    },
  }
}
