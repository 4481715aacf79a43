// Creates the limits that keep one tenant, or a store that fails, from making the service unavailable
// to all tenants.
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import type { Store } from '../../db/connection/client.ts'
import { countActiveKeys, countStoredKeys } from '../../db/idempotency/idempotency-keys.ts'
import { createSharedCount } from '../../db/tenants/rate-limits.ts'
import type { ApiLimits } from '../endpoint.ts'
import type { ApiObserver } from '../observer.ts'
import { createInvalidKeysLimit } from './invalid-keys.ts'
import { activeKeys, createKeysLimit, storedKeys } from './keys-limit.ts'
import { createRateLimiter } from './rate-limit.ts'
import { createStoreBreaker } from './store-breaker.ts'

export function createApiLimits(
  config: Config,
  { sql }: Store,
  log: Logger,
  observe: ApiObserver,
): Omit<ApiLimits, 'places'> {
  const windowSeconds = config.RATE_LIMIT_WINDOW_SECONDS
  return {
    rate: createRateLimiter(windowSeconds, createSharedCount(sql), log),
    invalidKeys: createInvalidKeysLimit({ limit: config.RATE_LIMIT_INVALID_KEYS, windowSeconds }),
    activeKeys: createKeysLimit(
      activeKeys,
      ({ tenantId, most }) => countActiveKeys(sql, tenantId, most),
      log,
    ),
    storedKeys: createKeysLimit(
      storedKeys,
      ({ tenantId, most }) => countStoredKeys(sql, tenantId, most),
      log,
    ),
    storeBreaker: createStoreBreaker(
      { failures: config.STORE_BREAKER_FAILURES, openMs: config.BREAKER_OPEN_MS },
      observe.turned,
    ),
  }
}
