// The provider call that a phase names: made, or looked up when its answer was lost. This is the only place
// where the engine reaches the provider.
import type { Outcome } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type {
  CallIdentity,
  CallName,
  PaymentProvider,
  ProviderCall,
  Trace,
} from '../provider/payment-provider.ts'

/** A provider call of a phase table; `retrieve` executes nothing. */
export type PhaseCall = CallName | 'retrieve'

export function executeCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  identity: CallIdentity,
): Promise<Outcome<unknown>> {
  if (name === 'retrieve') return readStanding(provider, subject as { payment: Payment })
  return callNamed(provider, name).execute(subject, identity)
}

/** What the call did when its answer was lost. Executes nothing. */
export function findCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  trace: Trace,
): Promise<Outcome<unknown>> {
  if (name === 'retrieve') return readStanding(provider, subject as { payment: Payment })
  return callNamed(provider, name).find(subject, trace)
}

/** The same whether the phase reads for the first time or looks up a lost answer. */
function readStanding(
  provider: PaymentProvider,
  { payment }: { payment: Payment },
): Promise<Outcome<unknown>> {
  return provider.retrieve(payment)
}

/** `defineOperation` has proved that the subject is the request of the call. */
function callNamed({ calls }: PaymentProvider, name: CallName): ProviderCall<unknown, unknown> {
  return calls[name] as unknown as ProviderCall<unknown, unknown>
}
