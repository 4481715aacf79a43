// Makes the provider call that a phase names, or looks it up when its answer was lost. Only this
// file of the engine calls the provider.
import type { Outcome } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type {
  CallIdentity,
  CallName,
  PaymentProvider,
  ProviderCall,
  Trace,
} from '../provider/payment-provider.ts'

/** A provider call of a phase table that executes nothing, but reads where its object stands. */
export type LookName = 'retrieve' | 'retrieveRefund'

/** A provider call of a phase table. */
export type PhaseCall = CallName | LookName

export function isLook(name: PhaseCall): name is LookName {
  return name === 'retrieve' || name === 'retrieveRefund'
}

export function executeCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  identity: CallIdentity,
): Promise<Outcome<unknown>> {
  if (isLook(name)) return readStanding(provider, name, subject)
  return callNamed(provider, name).execute(subject, identity)
}

/** Looks up what a call did when its answer was lost. Executes nothing. */
export function findCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  trace: Trace,
): Promise<Outcome<unknown>> {
  if (isLook(name)) return readStanding(provider, name, subject)
  return callNamed(provider, name).find(subject, trace)
}

/** Serves both `executeCall` and `findCall`, because reading can be repeated. */
function readStanding(
  provider: PaymentProvider,
  name: LookName,
  subject: unknown,
): Promise<Outcome<unknown>> {
  const { payment, refund } = subject as { payment: Payment; refund: Refund }
  return name === 'retrieve' ? provider.retrieve(payment) : provider.retrieveRefund(refund)
}

/** `defineOperation` guarantees that the subject is the request of the call. */
function callNamed({ calls }: PaymentProvider, name: CallName): ProviderCall<unknown, unknown> {
  return calls[name] as unknown as ProviderCall<unknown, unknown>
}
