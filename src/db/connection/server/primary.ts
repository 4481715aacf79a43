// Finds the primary among the hosts of DATABASE_URL. The driver (postgres 3.4.9) would look for it
// too, but it tries the hosts again without a pause, and reports nothing, until one is a primary.
import type { Host } from './database-url.ts'
import { ServerUnusable } from './server-unusable.ts'

/** Connections that are opened together share one search. After a failover they need a new one. */
const SEARCH_REUSED_MS = 1_000

/** Asks one host, until the answer no longer matters. */
type IsPrimary = (host: Host, settled: AbortSignal) => Promise<boolean>

/**
 * Returns a function that asks all hosts at the same time, and returns the first one that says that
 * it is the primary. So a host that is down does not delay the others.
 */
export function createPrimarySearch(
  hosts: readonly Host[],
  isPrimary: IsPrimary,
): () => Promise<Host> {
  let search: Promise<Host> | undefined
  let endsMs = 0
  return () => {
    if (search !== undefined && performance.now() < endsMs) return search
    endsMs = performance.now() + SEARCH_REUSED_MS
    search = findPrimary(hosts, isPrimary)
    return search
  }
}

async function findPrimary(hosts: readonly Host[], isPrimary: IsPrimary): Promise<Host> {
  const settled = new AbortController()
  const searches = hosts.map(async (host) => {
    if (await isPrimary(host, settled.signal)) return host
    throw new ServerUnusable('NO_PRIMARY', 'it is a standby')
  })
  try {
    return await Promise.any(searches)
  } catch (error) {
    const { errors } = error as AggregateError
    throw ServerUnusable.ofHosts('NO_PRIMARY', 'no host is the primary', hosts, errors as Error[])
  } finally {
    settled.abort()
  }
}
