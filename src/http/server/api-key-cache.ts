// Caches API keys for a few seconds, so that a request needs no query. After a key ends, a
// notification clears the cache of every process; a process that is not listening caches nothing.
import { authenticateKey, hashApiKey, type AuthenticatedKey } from '../../db/tenants/api-keys.ts'
import type { Store } from '../../db/connection/client.ts'
import { KEYS_ENDED_CHANNEL } from '../../db/connection/notifications.ts'

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

/**
 * @param seconds how long a key is cached, which is also how long an ended key works when its
 *   notification is lost. 0 disables the cache.
 */
export function createApiKeyCache(
  store: Store,
  seconds: number,
  now: () => number = () => performance.now(),
): ApiKeyCache {
  /** By the hashes of the keys. */
  const cached = new Map<string, { readonly key: AuthenticatedKey; readonly untilMs: number }>()
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
      const entry = cached.get(nameOfKey(apiKey))
      return entry !== undefined && entry.untilMs > now() ? entry.key : undefined
    },
    async find(apiKey) {
      const [startedAtMs, endingsBefore, listened] = [now(), endings, isListening]
      const key = await authenticateKey(store, apiKey)
      if (key === undefined || !listened || endings !== endingsBefore) return key
      const [oldest = ''] = cached.keys()
      if (cached.size >= CACHED_KEYS_MAX) cached.delete(oldest)
      const worksMs = Math.min(seconds, key.worksSeconds ?? seconds) * 1_000
      cached.set(nameOfKey(apiKey), { key, untilMs: startedAtMs + worksMs })
      return key
    },
    forget,
  }
}

/** No key is kept in plain text. */
export const nameOfKey = (apiKey: string): string => hashApiKey(apiKey).toString('latin1')
