// Computes when a client should ask again for the result of an operation: when that for which the
// operation waits is due.
import {
  findSecondsUntilStart,
  type IdempotencyKey,
} from '../../db/idempotency/idempotency-keys.ts'
import { withinStoreTimeout, type ApiParts } from '../endpoint.ts'

/** Nothing is scheduled any more: a person has to look. They have no schedule to derive this from. */
const PERSON_SECONDS = 3_600

/** A worker takes a job that is due in milliseconds. */
const SOON_SECONDS = 1

/**
 * Seconds until the state of an operation without a response changes by itself. There is no upper
 * bound: a client that asks before the next check of an unknown outcome learns nothing. Operators
 * and events of the provider can end it earlier, which webhooks announce.
 */
export async function secondsUntilChange(parts: ApiParts, key: IdempotencyKey): Promise<number> {
  const { settings, store } = parts
  switch (key.status) {
    case 'unknown':
      return key.dueInSeconds ?? PERSON_SECONDS
    case 'processing':
      return secondsOfLease(settings, key.dueInSeconds ?? 0)
    case 'pending': {
      if (key.attempts === 0) return SOON_SECONDS
      const start = await withinStoreTimeout(parts, findSecondsUntilStart(store.sql, key))
      // The sweeper gives an operation without a job a new one.
      return start ?? settings.SWEEP_INTERVAL_MS / 1_000
    }
    // The retry itself continues the operation, and its call waits for the circuit of the provider.
    case 'failed_retryable':
      return settings.BREAKER_OPEN_MS / 1_000
    case 'completed':
      return SOON_SECONDS
  }
}

/**
 * Most runs end within a second, and a run whose worker died ends with its lease. So the client asks
 * again after as long as the lease has lasted, and at its end at the latest; the sweeper takes over
 * then.
 */
function secondsOfLease(
  { LEASE_MS, SWEEP_INTERVAL_MS }: ApiParts['settings'],
  remaining: number,
): number {
  if (remaining <= 0) return SWEEP_INTERVAL_MS / 1_000
  return Math.min(remaining, LEASE_MS / 1_000 - remaining)
}
