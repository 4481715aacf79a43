// Limits requests as Stripe does (https://docs.stripe.com/rate-limits). A refused request gets 429
// with the limit as its reason, and executes nothing. All limits are off until a control route sets
// them, because a test suite is faster than any merchant.
import { z } from 'zod'
import type { ApiRequest } from './api-request.ts'
import { rateLimited, type RateLimitReason } from './stripe-errors.ts'

const limit = z.int().min(0).nullish()

/** Null or left out: no limit. Stripe documents 100 (sandbox: 25), 25 and 1,000. */
export const rateLimitSettings = z.strictObject({
  global_per_second: limit,
  endpoint_per_second: limit,
  global_concurrent: limit,
  endpoint_concurrent: limit,
  intent_updates_per_hour: limit,
})
type RateLimitSettings = z.infer<typeof rateLimitSettings>

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

interface Limit {
  readonly reason: RateLimitReason
  readonly name: string
  readonly most: number | null | undefined
}

export type RateLimits = ReturnType<typeof createRateLimits>

/** @param nowMs milliseconds of any clock. */
export function createRateLimits(nowMs: () => number) {
  let limits: RateLimitSettings = {}
  let admitted = new Map<string, number[]>()
  let running = new Map<string, number>()
  return {
    set(settings: RateLimitSettings) {
      limits = settings
      admitted = new Map()
      running = new Map()
    },
    /**
     * Admits the request, or refuses it.
     *
     * @returns what to call when the request is over.
     * @throws StripeError 429.
     */
    admit({ method, path, objectId }: Pick<ApiRequest, 'method' | 'path' | 'objectId'>) {
      // Stripe counts `GET /v1/payment_intents/{id}` as one endpoint for all ids.
      const endpoint = `${method} ${objectId === '' ? path : path.replace(objectId, ':id')}`
      const isUpdate = method === 'POST' && path.startsWith('/v1/payment_intents/')
      const updates = isUpdate ? limits.intent_updates_per_hour : undefined
      const concurrencies = [
        { reason: 'global-concurrency', name: 'all', most: limits.global_concurrent },
        { reason: 'endpoint-concurrency', name: endpoint, most: limits.endpoint_concurrent },
      ] satisfies Limit[]
      const rates = [
        { reason: 'global-rate', name: 'all', most: limits.global_per_second, ms: SECOND_MS },
        {
          reason: 'endpoint-rate',
          name: endpoint,
          most: limits.endpoint_per_second,
          ms: SECOND_MS,
        },
        { reason: 'resource-specific', name: objectId, most: updates, ms: HOUR_MS },
      ] satisfies (Limit & { ms: number })[]
      for (const { reason, name, most } of concurrencies) {
        if ((running.get(name) ?? 0) >= (most ?? Infinity)) throw rateLimited(reason)
      }
      // Only what has a limit: otherwise each request would read those of the second before.
      const limited = rates.filter(({ most }) => typeof most === 'number')
      for (const { reason, name, most, ms } of limited) {
        const recent = (admitted.get(name) ?? []).filter((at) => at > nowMs() - ms)
        admitted.set(name, recent)
        if (recent.length >= (most ?? Infinity)) throw rateLimited(reason)
      }
      for (const { name } of limited) admitted.get(name)?.push(nowMs())
      const counted = running
      const count = (change: 1 | -1) => {
        for (const { name } of concurrencies) counted.set(name, (counted.get(name) ?? 0) + change)
      }
      count(1)
      return () => count(-1)
    },
  }
}
