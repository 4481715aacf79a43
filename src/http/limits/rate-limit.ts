// Limits how many requests a tenant may send in a window, over all API processes. Each process
// counts by itself and adds its count to the tenant's shared count in blocks, after it has
// answered, so that no request waits for a limit.
import type { Logger } from 'pino'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Sql } from '../../db/connection/client.ts'

type RateKind = 'writes' | 'reads'

/** The state of a tenant's limit after a request. */
export interface RateUse {
  readonly kind: RateKind
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  /** Seconds until the window ends, at least one. */
  readonly resetSeconds: number
  readonly exceeded: boolean
}

export interface RateLimiter {
  /**
   * Counts one request.
   *
   * @param limit how many the tenant may send in a window; 0 for no limit, which gives undefined.
   */
  count(tenantId: string, kind: RateKind, limit: number): RateUse | undefined
}

/**
 * A process shares its count after each block of this fraction of the limit. Together, n processes
 * exceed the limit by at most n - 1 blocks, plus the requests that arrive while a statement runs.
 */
const BLOCKS_PER_LIMIT = 20

interface Count {
  /** The last known count of all processes. */
  shared: number
  /**
   * Requests counted here since then. A statement may be adding some of them to the shared count.
   */
  own: number
  sending: boolean
}

/**
 * Adds to the count of that name and returns the new value. A new count starts at zero when the
 * previous one has expired.
 */
export type SharedCount = (name: string, points: number, endsInMs: number) => Promise<number>

export function createRateLimiter(
  windowSeconds: number,
  addToShared: SharedCount,
  log: Logger,
  now: () => number = Date.now,
): RateLimiter {
  const windowMs = windowSeconds * 1_000
  let counts = new Map<string, Count>()
  let windowEndsAtMs = 0

  const sendBlocks = async (name: string, count: Count, block: number): Promise<void> => {
    if (count.sending) return
    count.sending = true
    // What is counted meanwhile may be a block, too, and no later request may come to send it.
    while (count.own >= block && counts.get(name) === count) await send(name, count)
    count.sending = false
  }

  const send = async (name: string, count: Count): Promise<void> => {
    const block = count.own
    try {
      const shared = await addToShared(name, block, windowEndsAtMs - now())
      count.own -= block
      count.shared = shared
    } catch (error) {
      // Without the counts of the others, each process enforces the limit by itself.
      log.warn({ err: error }, 'could not share a count of requests')
      count.own -= block
      count.shared += block
    }
  }
  return {
    count(tenantId, kind, limit) {
      if (limit === 0) return undefined
      const nowMs = now()
      if (nowMs >= windowEndsAtMs) {
        windowEndsAtMs = (Math.floor(nowMs / windowMs) + 1) * windowMs
        counts = new Map()
      }
      const name = `${kind}:${tenantId}`
      const count = counts.get(name) ?? { shared: 0, own: 0, sending: false }
      counts.set(name, count)
      const exceeded = count.shared + count.own >= limit
      if (!exceeded) count.own += 1
      void sendBlocks(name, count, Math.max(1, Math.floor(limit / BLOCKS_PER_LIMIT)))
      return {
        kind,
        limit,
        windowSeconds,
        remaining: Math.max(0, limit - count.shared - count.own),
        resetSeconds: Math.max(1, Math.ceil((windowEndsAtMs - nowMs) / 1_000)),
        exceeded,
      }
    },
  }
}

/**
 * Returns the response headers that describe the limit.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ (10)
 */
export function rateLimitHeaders(use: RateUse): Record<string, string> {
  const { kind, limit, windowSeconds, remaining, resetSeconds } = use
  return {
    'ratelimit-policy': `"${kind}";q=${limit};w=${windowSeconds}`,
    ratelimit: `"${kind}";r=${remaining};t=${resetSeconds}`,
  }
}

/**
 * Returns a function that adds to a count in the database, with rate-limiter-flexible in a table of its
 * format. Counts are disposable: they expire with their window.
 */
export function createSharedCount(sql: Sql): SharedCount {
  const limiter = new RateLimiterPostgres({
    storeClient: asPgPool(sql),
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    // A tenant has two rows, which are reused: the table does not grow.
    clearExpiredByTimeout: false,
    keyPrefix: '',
    // The limiter only counts; the API process compares the count with the limit.
    points: Number.MAX_SAFE_INTEGER,
    duration: 1,
  })
  return async (name, points, endsInMs) => {
    const customDuration = Math.max(1, endsInMs) / 1_000
    const { consumedPoints } = await limiter.penalty(name, points, { customDuration })
    return consumedPoints
  }
}

/** The package supports only the `pg` driver, and uses only `query` of its pool. */
function asPgPool(sql: Sql) {
  return {
    async query({ text, values }: { text: string; values: (string | number)[] }) {
      // The package multiplies seconds into milliseconds, which may not be an integer.
      const integers = values.map((value) =>
        typeof value === 'number' ? Math.round(value) : value,
      )
      const rows = await sql.unsafe<{ points: number; expire: string }[]>(text, integers, {
        prepare: true,
      })
      return { rows: rows.map((row) => ({ ...row, expire: Number(row.expire) })) }
    },
  }
}
