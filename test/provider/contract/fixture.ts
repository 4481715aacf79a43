// What the contract tests need to know of an adapter. A new adapter gets all of them by one fixture, in
// the list of fixtures.ts.
import type { RequestListener } from 'node:http'
import type { ProviderEvent } from '../../../src/domain/events/provider-event.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import type { CallIdentity, CallName, providerCalls } from '../../../src/provider/calls.ts'

/** A running stand-in of the provider. */
export interface ContractStandIn {
  readonly url: string
  /** Injects a fault of the stand-in into the next requests that match. */
  addFault(rule: {
    match?: { method?: string; path?: string; nth?: number }
    fault: string
    times?: number
    delay_ms?: number
  }): Promise<void>
  /** The log of what the stand-in has executed. Amounts are in minor units. */
  executed(): Promise<readonly { kind: string; amount: number; currency: string }[]>
  advance(seconds: number): Promise<void>
  reset(): Promise<void>
  close(): Promise<void>
}

/** The calls that every provider can make. */
type UsualCall = {
  [Name in CallName]: (typeof providerCalls)[Name] extends { needs: string } ? never : Name
}[CallName]

export interface ContractCall {
  /** Its name in the log of the stand-in. */
  readonly kind: string
  /** In minor units, as the log has it. */
  readonly amount: number
  /** Its request, for the rule of a fault. */
  readonly request: { readonly method: string; readonly path: string }
  /** Creates a payment for which the call is possible. */
  readonly ready: (adapter: PaymentProvider, standIn: ContractStandIn) => Promise<Payment>
  /** The answer names no amount, or none that counts. */
  readonly confirmsNoAmount?: true
  /** The answer that confirms the call. */
  readonly right: (payment: Payment, identity: CallIdentity) => RequestListener
  /** Answers that look like a success and do not confirm it. */
  readonly wrong: readonly (readonly [
    title: string,
    (payment: Payment, identity: CallIdentity) => RequestListener,
  ])[]
}

/** A request that the provider would send, and what is in it. */
interface SignedEvent {
  readonly body: string
  readonly signature: string | undefined
}

export interface ProviderFixture {
  readonly name: string
  readonly adapterFor: (url: string, timeoutMs?: number) => PaymentProvider
  readonly paymentOf: (fields?: Partial<Payment>) => Payment
  readonly startStandIn: (systemNow: () => number) => Promise<ContractStandIn>
  /** An id as the provider gives it. */
  readonly knownId: string
  /** Must reach no outcome. */
  readonly secret: string
  /** Without those that the provider declares it cannot make. */
  readonly calls: Readonly<Record<UsualCall, ContractCall>> &
    Readonly<Partial<Record<CallName, ContractCall>>>
  /** The answer to a read that a call makes before its request. Undefined: none makes one. */
  readonly readBefore?: RequestListener
  /** Answers that refuse any call, or that the provider would never give. */
  readonly refusals: readonly (readonly [
    title: string,
    outcome: 'not_executed' | 'unknown',
    RequestListener,
  ])[]
  /** The request of a lookup, or of a page of a list, for the rule of a fault. */
  readonly reads: { readonly method?: string; readonly path?: string }
  /** Answers that are nothing that a lookup asks for. */
  readonly implausible: readonly (readonly [title: string, RequestListener])[]
  /** Answers that are no page of a list. */
  readonly noPages: readonly (readonly [title: string, RequestListener])[]
  /** How many records a page of a list has at most. */
  readonly pageSize: number
  /** A method that is declined. */
  readonly declinedMethod: string
  /** Whether the provider has disputes to list; by default it has. */
  readonly hasDisputes?: boolean
  /** Undefined for an adapter without webhooks. */
  readonly events?: {
    read(event: SignedEvent): Promise<ProviderEvent>
    /** An event about this payment. */
    signed(payment: Payment): SignedEvent
    /** Text of the event that must not be kept. */
    readonly card: string
    /** Requests that are not authentic. */
    readonly forged: readonly (readonly [title: string, (event: SignedEvent) => SignedEvent])[]
    /** Requests that are authentic, and no events. */
    readonly malformed: readonly (readonly [title: string, () => SignedEvent])[]
  }
}
