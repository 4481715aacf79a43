// Makes the provider call that a phase names, or looks it up when its answer was lost. Only this
// file of the engine calls the provider.
import type { Outcome } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Dispute } from '../domain/payments/dispute.ts'
import type { Refund } from '../domain/payments/refund.ts'
import type { Providers } from '../provider/providers.ts'
import type { PaymentProvider } from '../provider/payment-provider.ts'
import type { CallIdentity, CallName, ProviderCall, Trace } from '../provider/calls.ts'

/** A provider call of a phase table that executes nothing, but reads where its object stands. */
export type LookName = 'retrieve' | 'retrieveRefund' | 'retrieveDispute'

/** A provider call of a phase table. */
export type PhaseCall = CallName | LookName

export function isLook(name: PhaseCall): name is LookName {
  return name.startsWith('retrieve')
}

/** The requests of all calls; `defineOperation` guarantees that a subject is one. */
interface Subject {
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
  return providers.named((subject as Subject).payment.provider)
}

export async function executeCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  identity: CallIdentity,
): Promise<Outcome<unknown>> {
  const kind = isLook(name) ? 'look' : 'call'
  return describe(kind, subject as Subject, await execute(provider, name, subject, identity))
}

function execute(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  identity: CallIdentity,
): Promise<Outcome<unknown>> {
  if (isLook(name)) return readStanding(provider, name, subject as Subject)
  return callNamed(provider, name).execute(subject, identity)
}

/** Looks up what a call did when its answer was lost. Executes nothing. */
export async function findCall(
  provider: PaymentProvider,
  name: PhaseCall,
  subject: unknown,
  trace: Trace,
): Promise<Outcome<unknown>> {
  const found = isLook(name)
    ? await readStanding(provider, name, subject as Subject)
    : await callNamed(provider, name).find(subject, trace)
  return describe('look', subject as Subject, found)
}

/** Adds for the timeline whether it was a call or a look, and the amount that it is about. */
function describe(
  kind: 'call' | 'look',
  { payment, refund, dispute, amountMinor }: Subject,
  outcome: Outcome<unknown>,
): Outcome<unknown> {
  const amount = (refund ?? dispute)?.amountMinor ?? amountMinor ?? payment.amountMinor
  const { currency } = dispute ?? payment
  const { provider } = payment
  return { ...outcome, asked: { kind, provider, amount, currency, ...outcome.asked } }
}

/** Serves both `executeCall` and `findCall`, because reading can be repeated. */
function readStanding(
  provider: PaymentProvider,
  name: LookName,
  { payment, refund, dispute }: Subject,
): Promise<Outcome<unknown>> {
  if (name === 'retrieve') return provider.retrieve(payment)
  if (name === 'retrieveRefund' && refund !== undefined) return provider.retrieveRefund(refund)
  if (name === 'retrieveDispute' && dispute !== undefined) return provider.retrieveDispute(dispute)
  throw new Error(`there is no object for ${name}`)
}

/** `defineOperation` guarantees that the subject is the request of the call. */
function callNamed({ calls }: PaymentProvider, name: CallName): ProviderCall<unknown, unknown> {
  return calls[name] as unknown as ProviderCall<unknown, unknown>
}
