// Every executing call of the port, made and looked up in the same way for each adapter.
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import type { CallIdentity, CallName, Trace } from '../../../src/provider/calls.ts'
import type { ContractCall, ProviderFixture } from './fixture.ts'
import { identityOf, refundOf } from './payments.ts'

interface PortCall {
  /** Makes the call, for the whole amount; an adjustment adds 500. */
  readonly make: (
    adapter: PaymentProvider,
    payment: Payment,
    identity: CallIdentity,
  ) => Promise<Outcome<unknown>>
  /** Looks up what the call did. */
  readonly find: (
    adapter: PaymentProvider,
    payment: Payment,
    trace: Trace,
  ) => Promise<Outcome<unknown>>
}

export const portCalls = {
  authorize: {
    make: (adapter, payment, identity) => adapter.calls.authorize.execute({ payment }, identity),
    find: (adapter, payment, trace) => adapter.calls.authorize.find({ payment }, trace),
  },
  capture: {
    make: (adapter, payment, identity) =>
      adapter.calls.capture.execute({ payment, amountMinor: payment.amountMinor }, identity),
    find: (adapter, payment, trace) =>
      adapter.calls.capture.find({ payment, amountMinor: payment.amountMinor }, trace),
  },
  adjust: {
    make: (adapter, payment, identity) =>
      adapter.calls.adjust.execute({ payment, amountMinor: payment.amountMinor + 500 }, identity),
    find: (adapter, payment, trace) =>
      adapter.calls.adjust.find({ payment, amountMinor: payment.amountMinor + 500 }, trace),
  },
  cancel: {
    make: (adapter, payment, identity) =>
      adapter.calls.cancel.execute({ payment, reason: null }, identity),
    find: (adapter, payment, trace) => adapter.calls.cancel.find({ payment }, trace),
  },
  refund: {
    make: (adapter, payment, identity) =>
      adapter.calls.refund.execute({ payment, refund: refundOf(payment) }, identity),
    find: (adapter, payment, trace) =>
      adapter.calls.refund.find({ payment, refund: refundOf(payment) }, trace),
  },
} as const satisfies Record<CallName, PortCall>

export const callNames = Object.keys(portCalls) as CallName[]

/** The calls that the provider can make, as its adapter declares. */
export function callNamesOf({ adapterFor }: Pick<ProviderFixture, 'adapterFor'>): CallName[] {
  const { capabilities } = adapterFor('http://127.0.0.1:1')
  const cannot = {
    adjust: !capabilities.incrementalAuthorization,
    cancel: !capabilities.void,
  }
  return callNames.filter((name) => !(name in cannot && cannot[name as keyof typeof cannot]))
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
