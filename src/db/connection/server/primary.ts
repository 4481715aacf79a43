// Finds the primary among the hosts of DATABASE_URL. The driver (postgres 3.4.9) would look for it
// too, but it tries the hosts again without a pause, and reports nothing, until one is a primary.
import { setTimeout as delay } from 'node:timers/promises'
import type { Host } from './database-url.ts'
import type { LatestPrimaries, Server } from './server.ts'
import { ServerUnusable } from './server-unusable.ts'

/** Connections that are opened together share one search. After a failover they need a new one. */
const SEARCH_REUSED_MS = 1_000

/** How long other hosts may take to say that they were promoted later than the first that answers. */
const OTHERS_MS = 250

/** Asks one host, until the answer no longer matters. */
type Ask = (host: Host, settled: AbortSignal) => Promise<Server>

export interface Primary {
  readonly host: Host
  readonly server: Server
}

/**
 * Returns a function that asks all hosts at the same time, and returns the primary. So a host that is
 * down does not delay the others. Of several, it is the one that was promoted last.
 */
export function createPrimarySearch(
  hosts: readonly Host[],
  ask: Ask,
  latest: LatestPrimaries,
): () => Promise<Primary> {
  let search: Promise<Primary> | undefined
  let endsMs = 0
  return () => {
    if (search !== undefined && performance.now() < endsMs) return search
    endsMs = performance.now() + SEARCH_REUSED_MS
    search = findPrimary(hosts, ask, latest)
    return search
  }
}

async function findPrimary(
  hosts: readonly Host[],
  ask: Ask,
  latest: LatestPrimaries,
): Promise<Primary> {
  const settled = new AbortController()
  const found: Primary[] = []
  const searches = hosts.map(async (host) => {
    const server = await ask(host, settled.signal)
    if (server.timeline === null) throw new ServerUnusable('NO_PRIMARY', 'it is a standby')
    latest.note(server)
    found.push({ host, server })
  })
  try {
    await Promise.any(searches)
  } catch (error) {
    const { errors } = error as AggregateError
    throw ServerUnusable.ofHosts('NO_PRIMARY', 'no host is the primary', hosts, errors as Error[])
  }
  try {
    await Promise.race([Promise.allSettled(searches), delay(OTHERS_MS, undefined, { ref: false })])
    const [primary] = found.filter(({ server }) => !latest.isFormer(server))
    if (primary !== undefined) return primary
    throw new ServerUnusable('NO_PRIMARY', 'only a former primary answers')
  } finally {
    settled.abort()
  }
}
