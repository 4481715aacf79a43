// Remembers the idempotency keys that this process recently found reserved. It is only a hint which
// statement to run first; the current state of a key always comes from the store.

export interface RecentKeys {
  has(tenantId: string, key: string): boolean
  add(tenantId: string, key: string): void
}

/** Takes a few megabytes. Most retries come within minutes. */
const KEYS_MAX = 20_000

/** @param most the maximum number of keys; at least half as many of the latest are remembered. */
export function createRecentKeys(most = KEYS_MAX): RecentKeys {
  let older = new Set<string>()
  let latest = new Set<string>()
  return {
    has(tenantId, key) {
      // Unambiguous, because all tenant ids have the same length.
      const name = tenantId + key
      return latest.has(name) || older.has(name)
    },
    add(tenantId, key) {
      latest.add(tenantId + key)
      if (latest.size < most / 2) return
      older = latest
      latest = new Set()
    },
  }
}
