// Stops sending statements to a store that does not answer. For a while all requests fail at once
// instead of each waiting for its timeout; then one request tries the store again.
import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhen,
} from 'cockatiel'
import { isStoreUnavailable } from '../../db/connection/store-errors.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'
import type { ApiObserver } from '../observer.ts'
import { retryAfter } from '../responses/answer.ts'

/**
 * Runs a statement.
 *
 * @throws ProblemError store-unavailable, without running it, while the circuit is open.
 */
type ProbeStore = <Value>(run: () => Promise<Value>) => Promise<Value>

export interface StoreBreaker {
  /** For looking up API keys, which every request of a tenant does first. */
  readonly reading: ProbeStore
  /**
   * For reserving idempotency keys, and for the reads of a key before that: a store may accept reads but
   * no writes. What follows a reservation has reached the store already.
   */
  readonly reserving: ProbeStore
}

export interface BreakerSettings {
  /** Consecutive failures that open the circuit; 0 for a circuit that never opens. */
  readonly failures: number
  readonly openMs: number
}

/** @param turned is called when a circuit opens or closes. */
export function createStoreBreaker(
  settings: BreakerSettings,
  turned: ApiObserver['turned'] = () => {},
): StoreBreaker {
  return {
    reading: createStoreProbe(settings, (isOpen) => turned('store_reads', isOpen)),
    reserving: createStoreProbe(settings, (isOpen) => turned('store_reservations', isOpen)),
  }
}

function createStoreProbe(
  { failures, openMs }: BreakerSettings,
  turned: (isOpen: boolean) => void,
): ProbeStore {
  if (failures === 0) return (run) => run()
  const breaker = circuitBreaker(handleWhen(isStoreUnavailable), {
    breaker: new ConsecutiveBreaker(failures),
    halfOpenAfter: openMs,
  })
  // A half-open circuit is still open for all requests but one.
  breaker.onStateChange((state) => turned(state !== CircuitState.Closed))
  return async (run) => {
    // The package would make all requests wait for the one that tries the store.
    if (breaker.state === CircuitState.HalfOpen) throw unavailable(openMs)
    try {
      return await breaker.execute(run)
    } catch (error) {
      throw error instanceof BrokenCircuitError ? unavailable(openMs, error) : error
    }
  }
}

function unavailable(openMs: number, cause?: Error): ProblemError {
  const detail = 'The database failed repeatedly. Requests are refused for a moment.'
  const headers = retryAfter(openMs / 1_000)
  return new ProblemError('store-unavailable', { detail, headers, cause })
}
