// Stops calling a provider that fails: for a while its calls are not made at all, and then one tries
// whether it works again. A call that is not made is proved not to have run; what is in doubt about an
// earlier one stays in doubt, because the engine keeps that with the operation.
import {
  BrokenCircuitError,
  CircuitState,
  circuitBreaker,
  ConsecutiveBreaker,
  handleWhenResult,
} from 'cockatiel'
import { isFinalOutcome, type NotExecuted, type Outcome } from '../domain/operations/outcome.ts'
import type {
  CallIdentity,
  PaymentProvider,
  ProviderCall,
  ProviderCalls,
} from './payment-provider.ts'

export interface ProviderBreakerSettings {
  /** Unsettled calls in a row that open the circuit; 0 for one that never opens. */
  readonly failures: number
  readonly openMs: number
}

const REASON = 'the provider has failed repeatedly, and is not called for a moment'

/**
 * Guards the calls that move money. What looks things up is let through: there `not_executed` says that
 * the thing looked for did not happen, which nobody knows who did not look.
 *
 * @param turned is told when the circuit opens, and when it closes again.
 */
export function guardProvider(
  provider: PaymentProvider,
  { failures, openMs }: ProviderBreakerSettings,
  turned: (isOpen: boolean) => void = () => {},
): PaymentProvider {
  if (failures === 0) return provider
  const breaker = circuitBreaker(handleWhenResult(isFailure), {
    breaker: new ConsecutiveBreaker(failures),
    halfOpenAfter: openMs,
  })
  // Half open it is still open for all but one.
  breaker.onStateChange((state) => turned(state !== CircuitState.Closed))
  const guarded =
    <Request, Value>(name: string, call: ProviderCall<Request, Value>['execute']) =>
    async (request: Request, identity: CallIdentity): Promise<Outcome<Value>> => {
      // The package would let the call wait for the one that tries, and use up its lease.
      if (breaker.state === CircuitState.HalfOpen) return notCalled(name)
      try {
        return await breaker.execute(() => call(request, identity))
      } catch (error) {
        if (error instanceof BrokenCircuitError) return notCalled(name)
        throw error
      }
    }
  const guardCall = <Request, Value>(name: string, call: ProviderCall<Request, Value>) => ({
    ...call,
    execute: guarded(name, call.execute),
  })
  return { ...provider, calls: mapCalls(provider.calls, guardCall) }
}

type AnyCall = ProviderCall<never, unknown>

/** Every call, with no list of names that could miss one. */
function mapCalls(
  calls: ProviderCalls,
  map: <Request, Value>(
    name: string,
    call: ProviderCall<Request, Value>,
  ) => ProviderCall<Request, Value>,
): ProviderCalls {
  const entries: [string, AnyCall][] = Object.entries(calls)
  const mapped = entries.map(([name, call]) => [name, map(name, call)])
  return Object.fromEntries(mapped) as ProviderCalls
}

function isFailure(result: unknown): boolean {
  return !isFinalOutcome(result as Outcome<unknown>)
}

function notCalled(call: string): NotExecuted {
  return { outcome: 'not_executed', reason: REASON, asked: { call }, answered: { error: REASON } }
}
