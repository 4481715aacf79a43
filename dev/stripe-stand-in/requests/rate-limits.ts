// Limits requests as Stripe does (https://docs.stripe.com/rate-limits). A refused request gets 429
// with the limit as its reason, and executes nothing. All limits are off until a control route sets
// them, because a test suite is faster than any merchant.
import type { ApiRequest } from './api-request.ts'
import { rateLimited, type RateLimitReason } from './stripe-errors.ts'

/** Null or left out: no limit. Stripe documents 100 (sandbox: 25), 25 and 1,000. */
export interface RateLimitSettings {
  readonly global_per_second?: number | null | undefined
  readonly endpoint_per_second?: number | null | undefined
  readonly global_concurrent?: number | null | undefined
  readonly endpoint_concurrent?: number | null | undefined
  readonly intent_updates_per_hour?: number | null | undefined
}

export interface RateLimits {
  set(settings: RateLimitSettings): void
  /**
   * Admits the request, or refuses it.
   *
   * @returns what to call when the request is over.
   * @throws StripeError 429.
   */
  admit(request: Pick<ApiRequest, 'method' | 'path' | 'objectId'>): () => void
}

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

/** @param nowMs milliseconds of any clock. */
export function createRateLimits(nowMs: () => number): RateLimits {
  let limits: RateLimitSettings = {}
  let admitted = new Map<string, number[]>()
  let running = new Map<string, number>()

  const refuseAtRate = (
    reason: RateLimitReason,
    name: string,
    limit: number | null | undefined,
    windowMs: number,
  ) => {
    if (!isSet(limit)) return
    const startMs = nowMs() - windowMs
    const recent = (admitted.get(name) ?? []).filter((at) => at > startMs)
    admitted.set(name, recent)
    if (recent.length >= limit) throw rateLimited(reason)
  }
  const refuseAtConcurrency = (
    reason: RateLimitReason,
    name: string,
    limit: number | null | undefined,
  ) => {
    if (isSet(limit) && (running.get(name) ?? 0) >= limit) throw rateLimited(reason)
  }
  /** Only what has a limit: otherwise each request would read those of the second before. */
  const count = (name: string) => {
    admitted.set(name, [...(admitted.get(name) ?? []), nowMs()])
  }

  return {
    set(settings) {
      limits = settings
      admitted = new Map()
      running = new Map()
    },
    admit({ method, path, objectId }) {
      // Stripe counts `GET /v1/payment_intents/{id}` as one endpoint for all ids.
      const endpoint = `${method} ${objectId === '' ? path : path.replace(objectId, ':id')}`
      const isUpdate = method === 'POST' && path.startsWith('/v1/payment_intents/')
      refuseAtConcurrency('global-concurrency', 'all', limits.global_concurrent)
      refuseAtConcurrency('endpoint-concurrency', endpoint, limits.endpoint_concurrent)
      refuseAtRate('global-rate', 'all', limits.global_per_second, SECOND_MS)
      refuseAtRate('endpoint-rate', endpoint, limits.endpoint_per_second, SECOND_MS)
      if (isUpdate) {
        refuseAtRate('resource-specific', objectId, limits.intent_updates_per_hour, HOUR_MS)
      }
      const names = ['all', endpoint]
      if (isSet(limits.global_per_second)) count('all')
      if (isSet(limits.endpoint_per_second)) count(endpoint)
      if (isUpdate && isSet(limits.intent_updates_per_hour)) count(objectId)
      const counted = running
      for (const name of names) counted.set(name, (counted.get(name) ?? 0) + 1)
      return () => {
        for (const name of names) counted.set(name, (counted.get(name) ?? 1) - 1)
      }
    },
  }
}

function isSet(limit: number | null | undefined): limit is number {
  return typeof limit === 'number'
}
