// Remembers for seconds whom the API keys belong to that work, so that a request need not ask. What ends a
// key is told to every process after its commit; a process that would not hear of it remembers nothing.
import { timingSafeEqual } from 'node:crypto'
import { authenticateKey, hashApiKey, type AuthenticatedKey } from './api-keys.ts'
import type { Store } from '../connection/client.ts'
import { KEYS_ENDED_CHANNEL } from '../connection/notifications.ts'

/** Some megabytes; beyond that whoever was remembered first is asked for again. */
const HOLDERS_MAX = 10_000

export interface ApiKeyCache {
  /** Who is known to hold the key, without asking the store; undefined says nothing about the key. */
  recall(apiKey: string): AuthenticatedKey | undefined
  /** Asks the store, and remembers who holds a key that works; see `findKeyHolder`. */
  find(apiKey: string): Promise<AuthenticatedKey | undefined>
  /** Asks for everyone again: a key was ended here. */
  forget(): void
}

interface CachedApiKey {
  readonly hash: Buffer
  readonly holder: AuthenticatedKey
  readonly untilMs: number
}

/**
 * @param seconds how long a key may be remembered: what a notification that was lost costs at most. 0
 *   for a store that is asked for every request.
 */
export function createApiKeyCache(
  store: Store,
  seconds: number,
  now: () => number = () => performance.now(),
): ApiKeyCache {
  const known = new Map<string, CachedApiKey>()
  let hears = false
  // Of the answers under way when a key ends, none may be remembered: they may have left before.
  let ends = 0
  const forget = () => {
    ends += 1
    known.clear()
  }
  if (seconds > 0) {
    store.listen(KEYS_ENDED_CHANNEL, forget, (isListening) => {
      hears = isListening
      forget()
    })
  }

  return {
    recall(apiKey) {
      const hash = hashApiKey(apiKey)
      const found = known.get(hash.toString('latin1'))
      if (found === undefined || found.untilMs <= now()) return undefined
      return timingSafeEqual(found.hash, hash) ? found.holder : undefined
    },
    async find(apiKey) {
      const [askedAtMs, endsBefore, heard] = [now(), ends, hears]
      const holder = await authenticateKey(store, apiKey)
      if (holder === undefined || !heard || ends !== endsBefore) return holder
      const hash = hashApiKey(apiKey)
      if (known.size >= HOLDERS_MAX) evictOldest(known)
      const worksMs = Math.min(seconds, holder.worksSeconds ?? seconds) * 1_000
      known.set(hash.toString('latin1'), { hash, holder, untilMs: askedAtMs + worksMs })
      return holder
    },
    forget,
  }
}

function evictOldest(known: Map<string, CachedApiKey>): void {
  const [first] = known.keys()
  if (first !== undefined) known.delete(first)
}
