// Translates the call that a phase table names into a call of the provider's adapter. Only this file of
// the engine calls an adapter.
import type { Outcome } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Dispute } from '../domain/payments/dispute.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { Providers } from '../provider/providers.ts'
import type { PaymentProvider } from '../provider/payment-provider.ts'
import type { CallIdentity, CallName, ProviderCall, LookupCriteria } from '../provider/calls.ts'

/** A provider call of a phase table that executes nothing, but reads the provider status of its object. */
export type PhaseRead = 'retrieve' | 'retrieveRefund' | 'retrieveDispute'

/** A provider call of a phase table. */
export type PhaseCall = CallName | PhaseRead

export function isRead(name: PhaseCall): name is PhaseRead {
  return name.startsWith('retrieve')
}

/** The requests of all calls; `defineOperation` guarantees that a subject is one. */
export interface PhaseSubject {
  readonly payment: Payment
  readonly refund?: Refund
  readonly dispute?: Dispute
  readonly amountMinor?: number | undefined
}

/** The provider of the payment that a call is about. */
export function providerOf(
  { providers }: { readonly providers: Providers },
  subject: unknown,
): PaymentProvider {
  return providers.named((subject as PhaseSubject).payment.provider)
}

export async function executeCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  identity: CallIdentity,
): Promise<Outcome<unknown>> {
  if (isRead(name)) return await readObject(provider, name, subject as PhaseSubject)
  const outcome = await callNamed(provider, name).execute(subject, identity)
  return describe('call', subject as PhaseSubject, outcome)
}

/** Looks up what a call did when its answer was lost. Executes nothing. */
export async function findOutcome(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  criteria: LookupCriteria,
): Promise<Outcome<unknown>> {
  if (isRead(name)) return await readObject(provider, name, subject as PhaseSubject)
  const outcome = await callNamed(provider, name).find(subject, criteria)
  return describe('look', subject as PhaseSubject, outcome)
}

/** Adds for the timeline whether it was a call or a look, and the amount that it is about. */
function describe(
  kind: 'call' | 'look',
  { payment, refund, dispute, amountMinor }: PhaseSubject,
  outcome: Outcome<unknown>,
): Outcome<unknown> {
  const amount = (refund ?? dispute)?.amountMinor ?? amountMinor ?? payment.amountMinor
  const { currency } = dispute ?? payment
  const { provider } = payment
  return { ...outcome, asked: { kind, provider, amount, currency, ...outcome.asked } }
}

async function readObject(
  provider: PaymentProvider,
  name: PhaseRead,
  subject: PhaseSubject,
): Promise<Outcome<unknown>> {
  const { payment, refund, dispute } = subject
  if (name === 'retrieve') return describe('look', subject, await provider.retrieve(payment))
  if (name === 'retrieveRefund' && refund !== undefined) {
    return describe('look', subject, await provider.retrieveRefund(refund))
  }
  if (name === 'retrieveDispute' && dispute !== undefined) {
    return describe('look', subject, await provider.retrieveDispute(dispute))
  }
  throw new Error(`there is no object for ${name}`)
}

/** `defineOperation` guarantees that the subject is the request of the call. */
function callNamed({ calls }: PaymentProvider, name: CallName): ProviderCall<unknown, unknown> {
  return calls[name] as unknown as ProviderCall<unknown, unknown>
}
