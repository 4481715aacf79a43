// Remembers which idempotency keys this process has found taken, the latest ones. A hint and no more: it
// says which statement to begin with, and whatever has become of the key meanwhile, the store tells.

export interface SeenKeys {
  has(tenantId: string, key: string): boolean
  add(tenantId: string, key: string): void
}

/** Some megabytes; retries mostly come within minutes. */
const KEYS_MAX = 20_000

export function createSeenKeys(most = KEYS_MAX): SeenKeys {
  const seen = new Set<string>()
  return {
    has: (tenantId, key) => seen.has(nameOf(tenantId, key)),
    add(tenantId, key) {
      const name = nameOf(tenantId, key)
      // The one that is used again becomes the latest.
      seen.delete(name)
      seen.add(name)
      if (seen.size <= most) return
      const [oldest = ''] = seen
      seen.delete(oldest)
    },
  }
}

/** Ids of tenants are all of one length. */
function nameOf(tenantId: string, key: string): string {
  return tenantId + key
}
