// How many requests a tenant may make in a window, over all API processes. Each process counts by itself
// and adds what it has counted to the tenant's shared count in blocks, after it has answered, so that
// no request waits for a limit.
import type { Logger } from 'pino'
import type { SharedCount } from '../../db/tenants/rate-limits.ts'

export const rateKinds = ['writes', 'reads'] as const
export type RateKind = (typeof rateKinds)[number]

/** How a tenant stands after a request. */
export interface RateStanding {
  readonly kind: RateKind
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  /** Until the window ends: at least one. */
  readonly resetSeconds: number
  readonly exceeded: boolean
}

export interface RateLimiter {
  /** Counts one request; undefined when nothing limits those of its kind. */
  count(tenantId: string, kind: RateKind): RateStanding | undefined
}

export interface RateSettings {
  readonly limits: Readonly<Record<RateKind, number>>
  readonly windowSeconds: number
}

/**
 * The part of a limit that a process counts before it tells the others. What n processes together let
 * through beyond the limit is n - 1 times this at most, and what is asked while one statement runs.
 */
const BLOCKS_PER_LIMIT = 20

interface Count {
  /** Of all processes, as far as it is known here. */
  shared: number
  /** Counted here since then, part of it on its way to the others. */
  own: number
  sending: boolean
}

export function createRateLimiter(
  settings: RateSettings,
  addToShared: SharedCount,
  log: Logger,
  now: () => number = Date.now,
): RateLimiter {
  const windowMs = settings.windowSeconds * 1_000
  let counts = new Map<string, Count>()
  let windowEndsAtMs = 0

  const send = async (name: string, count: Count): Promise<void> => {
    const sent = count.own
    count.sending = true
    try {
      const shared = await addToShared(name, sent, windowEndsAtMs - now())
      count.own -= sent
      count.shared = shared
    } catch (error) {
      // Without the others' counts each process holds the limit by itself.
      log.warn({ err: error }, 'could not share a count of requests')
      count.own -= sent
      count.shared += sent
    } finally {
      count.sending = false
    }
  }
  return {
    count(tenantId, kind) {
      const limit = settings.limits[kind]
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
      const isBlock = count.own >= Math.max(1, Math.floor(limit / BLOCKS_PER_LIMIT))
      if (isBlock && !count.sending) void send(name, count)
      return {
        kind,
        limit,
        windowSeconds: settings.windowSeconds,
        remaining: Math.max(0, limit - count.shared - count.own),
        resetSeconds: Math.max(1, Math.ceil((windowEndsAtMs - nowMs) / 1_000)),
        exceeded,
      }
    },
  }
}

/**
 * What an answer says of the limit.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ (10)
 */
export function rateLimitHeaders(standing: RateStanding): Record<string, string> {
  const { kind, limit, windowSeconds, remaining, resetSeconds } = standing
  return {
    'ratelimit-policy': `"${kind}";q=${limit};w=${windowSeconds}`,
    ratelimit: `"${kind}";r=${remaining};t=${resetSeconds}`,
  }
}
