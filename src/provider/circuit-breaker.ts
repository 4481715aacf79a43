// A circuit breaker around the provider. After repeated failures no call is made for a while; then
// one call tests whether the provider works again. A call that is not made is `not_executed`. An
// operation that was in doubt stays in doubt, because the engine stores that in its row.
import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhenResult,
} from 'cockatiel'
import { isFinalOutcome, type NotExecuted, type Outcome } from '../domain/operations/outcome.ts'
import { notCalled } from './call-outcomes.ts'
import { type CallIdentity, mapCalls, type ProviderCall } from './calls.ts'
import type { PaymentProvider } from './payment-provider.ts'

export interface ProviderBreakerSettings {
  /** How many consecutive calls without a final outcome open the circuit; 0: it never opens. */
  readonly failures: number
  readonly openMs: number
}

const REASON = 'the provider has failed repeatedly, and is not called for a moment'

/**
 * Guards the calls that move money, but not lookups: `not_executed` of a lookup means that the
 * call did not happen, which a lookup that was not made cannot prove.
 *
 * @param turned is called when the circuit opens, and when it closes again.
 */
export function withCircuitBreaker(
  provider: PaymentProvider,
  { failures, openMs }: ProviderBreakerSettings,
  turned: (isOpen: boolean) => void = () => {},
): PaymentProvider {
  if (failures === 0) return provider
  const breaker = circuitBreaker(handleWhenResult(isFailure), {
    breaker: new ConsecutiveBreaker(failures),
    halfOpenAfter: openMs,
  })
  // A half-open circuit admits one call and is still open for all others.
  breaker.onStateChange((state) => turned(state !== CircuitState.Closed))
  const guarded =
    <Request, Value>(name: string, call: ProviderCall<Request, Value>['execute']) =>
    async (request: Request, identity: CallIdentity): Promise<Outcome<Value>> => {
      // In the package, the call would wait for the one that tests, and its lease would expire.
      if (breaker.state === CircuitState.HalfOpen) return circuitOpen(name)
      try {
        return await breaker.execute(() => call(request, identity))
      } catch (error) {
        if (error instanceof BrokenCircuitError) return circuitOpen(name)
        throw error
      }
    }
  const guardCall = <Request, Value>(name: string, call: ProviderCall<Request, Value>) => ({
    ...call,
    execute: guarded(name, call.execute),
  })
  return { ...provider, calls: mapCalls(provider.calls, guardCall) }
}

/** A refusal of one object must not stop the calls on others. */
function isFailure(result: unknown): boolean {
  const outcome = result as Outcome<unknown>
  return !isFinalOutcome(outcome) && !(outcome.outcome === 'not_executed' && outcome.aboutObject)
}

function circuitOpen(call: string): NotExecuted {
  return { ...notCalled(call, REASON), retryLater: true }
}
