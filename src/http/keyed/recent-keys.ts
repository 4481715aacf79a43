// Remembers which idempotency keys this process has found taken, the latest ones. A hint and no more: it
// says which statement to begin with, and whatever has become of the key meanwhile, the store tells.

export interface RecentKeys {
  has(tenantId: string, key: string): boolean
  add(tenantId: string, key: string): void
}

/** Some megabytes; retries mostly come within minutes. */
const KEYS_MAX = 20_000

/** Remembers the latest keys, half as many as the most at least. */
export function createRecentKeys(most = KEYS_MAX): RecentKeys {
  let older = new Set<string>()
  let latest = new Set<string>()
  return {
    has(tenantId, key) {
      const name = nameOf(tenantId, key)
      return latest.has(name) || older.has(name)
    },
    add(tenantId, key) {
      latest.add(nameOf(tenantId, key))
      if (latest.size < most / 2) return
      older = latest
      latest = new Set()
    },
  }
}

/** Ids of tenants are all of one length. */
function nameOf(tenantId: string, key: string): string {
  return tenantId + key
}
