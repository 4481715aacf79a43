// Stops asking a store that does not answer: for a while everyone is told so at once, instead of each
// waiting for a time-out of their own, and then one request tries again.
import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhen,
} from 'cockatiel'
import { isStoreUnavailable } from '../../db/store-errors.ts'
import { ProblemError } from '../../domain/errors.ts'
import { retryAfter } from '../answer.ts'

/** Asks the store. @throws ProblemError store-unavailable without asking it, while the circuit is open. */
export type AskStore = <Value>(ask: () => Promise<Value>) => Promise<Value>

export interface StoreBreaker {
  /** For who asks whose API key it is. */
  readonly reading: AskStore
  /** For who reserves a key: a store may be readable and take nothing. */
  readonly reserving: AskStore
}

export interface BreakerSettings {
  /** Failures in a row that open the circuit; 0 for a circuit that never opens. */
  readonly failures: number
  readonly openMs: number
}

export function createStoreBreaker(settings: BreakerSettings): StoreBreaker {
  return { reading: createAskStore(settings), reserving: createAskStore(settings) }
}

function createAskStore({ failures, openMs }: BreakerSettings): AskStore {
  if (failures === 0) return (ask) => ask()
  const breaker = circuitBreaker(handleWhen(isStoreUnavailable), {
    breaker: new ConsecutiveBreaker(failures),
    halfOpenAfter: openMs,
  })
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
  return new ProblemError('store-unavailable', { detail, headers: retryAfter, cause })
}
