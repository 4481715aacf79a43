// Follows the primary to another server: a pool looks for it while one of its statements waits, and
// from time to time.
import type { Database } from '../driver.ts'
import { isReplacedBy } from '../server/server.ts'
import type { PooledClient } from './pooled-client.ts'

/** A statement that takes longer may wait for a server that was replaced. */
const SLOW_MS = 1_000
/** Otherwise it looks this often: a former primary may answer as if nothing had happened. */
const LOOK_MS = 5_000

/**
 * Gives up the sessions of a server that is no longer the primary. They may wait for a long time: a
 * machine that was cut off closes no connection. Returns a function that stops it.
 */
export function followPrimary(
  clients: readonly PooledClient[],
  { findPrimary }: Pick<Database, 'findPrimary'>,
): () => void {
  let lookedAtMs = performance.now()
  const follow = async () => {
    const isDue = performance.now() - lookedAtMs > LOOK_MS
    if (!isDue && !clients.some((client) => client.hasWaited(SLOW_MS))) return
    lookedAtMs = performance.now()
    try {
      const { server: primary } = await findPrimary()
      for (const client of clients) {
        const { session } = client
        const isWaiting = client.hasWaited(SLOW_MS)
        if (session.server && isReplacedBy(session.server, primary, isWaiting)) {
          client.renew(session)
        }
      }
    } catch {
      // There is none yet. A statement that waits has its own limit.
    }
  }
  const following = setInterval(() => void follow(), SLOW_MS).unref()
  return () => clearInterval(following)
}
