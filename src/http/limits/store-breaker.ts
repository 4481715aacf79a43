// Stops asking a store that does not answer: for a while everyone is told so at once, instead of each
// waiting for a time-out of their own, and then one request tries again.
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

/** Asks the store. @throws ProblemError store-unavailable without asking it, while the circuit is open. */
export type ProbeStore = <Value>(ask: () => Promise<Value>) => Promise<Value>

export interface StoreBreaker {
  /** For who asks whose API key it is. */
  readonly reading: ProbeStore
  /** For who reserves a key: a store may be readable and take nothing. */
  readonly reserving: ProbeStore
}

export interface BreakerSettings {
  /** Failures in a row that open the circuit; 0 for a circuit that never opens. */
  readonly failures: number
  readonly openMs: number
}

/** @param turned is told when a circuit opens, and when it closes again. */
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
  if (failures === 0) return (ask) => ask()
  const breaker = circuitBreaker(handleWhen(isStoreUnavailable), {
    breaker: new ConsecutiveBreaker(failures),
    halfOpenAfter: openMs,
  })
  // Half open it is still open for all but one.
  breaker.onStateChange((state) => turned(state !== CircuitState.Closed))
  return async (ask) => {
    // The package would let everyone wait for the one that tries.
    if (breaker.state === CircuitState.HalfOpen) throw unavailable()
    try {
      return await breaker.execute(ask)
    } catch (error) {
      throw error instanceof BrokenCircuitError ? unavailable(error) : error
    }
  }
}

function unavailable(cause?: Error): ProblemError {
  const detail = 'The store has failed repeatedly, and is not asked for a moment.'
  return new ProblemError('store-unavailable', { detail, cause })
}
