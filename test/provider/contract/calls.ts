// Every executing call of the port, made and looked up in the same way for each adapter.
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import {
  callNames,
  declarationOf,
  type CallIdentity,
  type CallName,
  type ProviderCall,
  type LookupCriteria,
} from '../../../src/provider/calls.ts'
import type { ContractCall, ProviderFixture } from './fixture.ts'
import { identityOf, refundOf } from './payments.ts'

interface PortCall {
  readonly make: (
    adapter: PaymentProvider,
    payment: Payment,
    identity: CallIdentity,
  ) => Promise<Outcome<unknown>>
  /** Looks up what the call did. */
  readonly find: (
    adapter: PaymentProvider,
    payment: Payment,
    criteria: LookupCriteria,
  ) => Promise<Outcome<unknown>>
}

/** The arguments of every call: for the whole amount; an adjustment adds 500. */
function argumentsOf(name: CallName, payment: Payment) {
  const amountMinor = payment.amountMinor + (name === 'adjust' ? 500 : 0)
  return { payment, amountMinor, reason: null, refund: refundOf(payment) }
}

const callAt = (adapter: PaymentProvider, name: CallName) =>
  adapter.calls[name] as ProviderCall<object, unknown>

export const portCalls = Object.fromEntries(
  callNames.map((name): [string, PortCall] => [
    name,
    {
      make: (adapter, payment, identity) =>
        callAt(adapter, name).execute(argumentsOf(name, payment), identity),
      find: (adapter, payment, criteria) =>
        callAt(adapter, name).find(argumentsOf(name, payment), criteria),
    },
  ]),
) as Readonly<Record<CallName, PortCall>>

/** The calls that the provider can make, as its adapter declares. */
export function callNamesOf({ adapterFor }: Pick<ProviderFixture, 'adapterFor'>): CallName[] {
  const { capabilities } = adapterFor('http://127.0.0.1:1')
  return callNames.filter((name) => {
    const needs = declarationOf(name)?.needs
    return needs === undefined || capabilities[needs]
  })
}

/** @throws Error when the fixture leaves out a call that its adapter declares. */
export function callOf(calls: ProviderFixture['calls'], name: CallName): ContractCall {
  const call = calls[name]
  if (call === undefined) throw new Error(`the fixture has no ${name}`)
  return call
}

/** Authorizes a payment, and returns it as the next phase finds it. */
export async function authorize(adapter: PaymentProvider, payment: Payment): Promise<Payment> {
  const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))
  if (outcome.outcome !== 'done') throw new Error(`not authorized: ${JSON.stringify(outcome)}`)
  return { ...payment, providerPaymentId: outcome.value.providerPaymentId }
}

/** Captures an authorized payment, and returns it as a refund receives it. */
export async function capture(adapter: PaymentProvider, payment: Payment): Promise<Payment> {
  const { amountMinor } = payment
  const identity = identityOf('authorized')
  const outcome = await adapter.calls.capture.execute({ payment, amountMinor }, identity)
  if (outcome.outcome !== 'done') throw new Error(`not captured: ${JSON.stringify(outcome)}`)
  return { ...payment, amountCapturedMinor: amountMinor }
}
