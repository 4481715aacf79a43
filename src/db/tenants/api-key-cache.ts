// Caches API keys for a few seconds, so that a request needs no query. After a key ends, a
// notification clears the cache of every process; a process that is not listening caches nothing.
import { timingSafeEqual } from 'node:crypto'
import { authenticateKey, hashApiKey, type AuthenticatedKey } from './api-keys.ts'
import type { Store } from '../connection/client.ts'
import { KEYS_ENDED_CHANNEL } from '../connection/notifications.ts'

/** Some megabytes; beyond that the oldest entry is evicted. */
const CACHED_KEYS_MAX = 10_000

export interface ApiKeyCache {
  /** The cached key. Undefined means only that the key is not cached. */
  recall(apiKey: string): AuthenticatedKey | undefined
  /** Authenticates the key by the store, and caches it when it works; see `authenticateKey`. */
  find(apiKey: string): Promise<AuthenticatedKey | undefined>
  /** Clears the cache: this process ended a key. */
  forget(): void
}

interface CachedApiKey {
  readonly hash: Buffer
  readonly key: AuthenticatedKey
  readonly untilMs: number
}

/**
 * @param seconds how long a key is cached, which is also how long an ended key works when its
 *   notification is lost. 0 disables the cache.
 */
export function createApiKeyCache(
  store: Store,
  seconds: number,
  now: () => number = () => performance.now(),
): ApiKeyCache {
  const cached = new Map<string, CachedApiKey>()
  let isListening = false
  // Counts endings: a query that began before a key ended must not be cached.
  let endings = 0
  const forget = () => {
    endings += 1
    cached.clear()
  }
  if (seconds > 0) {
    store.listen(KEYS_ENDED_CHANNEL, forget, (listens) => {
      isListening = listens
      forget()
    })
  }

  return {
    recall(apiKey) {
      const hash = hashApiKey(apiKey)
      const entry = cached.get(hash.toString('latin1'))
      if (entry === undefined || entry.untilMs <= now()) return undefined
      return timingSafeEqual(entry.hash, hash) ? entry.key : undefined
    },
    async find(apiKey) {
      const [startedAtMs, endingsBefore, listened] = [now(), endings, isListening]
      const key = await authenticateKey(store, apiKey)
      if (key === undefined || !listened || endings !== endingsBefore) return key
      const hash = hashApiKey(apiKey)
      if (cached.size >= CACHED_KEYS_MAX) evictOldest(cached)
      const worksMs = Math.min(seconds, key.worksSeconds ?? seconds) * 1_000
      cached.set(hash.toString('latin1'), { hash, key, untilMs: startedAtMs + worksMs })
      return key
    },
    forget,
  }
}

function evictOldest(cached: Map<string, CachedApiKey>): void {
  const [first] = cached.keys()
  if (first !== undefined) cached.delete(first)
}
