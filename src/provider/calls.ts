// The calls that move money at a provider, each declared once: its arguments and its result, what an
// adapter promises, what makes a second execution harmless, and its words in sentences for operators.
// Guards, the engine, those sentences, and the tests and proxies of every adapter read this table.
import type { CallWords } from '../domain/operations/doubt-sentences.ts'
import type { Declined, Outcome } from '../domain/operations/outcome.ts'
import type { Cancellation, Hold, Payment } from '../domain/payments/payment.ts'
import type { Refund, RefundProviderStatus } from '../domain/payments/refund.ts'
import { abilities, type Ability, type Capabilities } from './capabilities.ts'

/** Money held on a card, or a card whose holder must authenticate first. */
export type Authorization =
  | ({ readonly status: 'held'; readonly providerPaymentId: string } & Hold)
  | {
      readonly status: 'requires_action'
      readonly providerPaymentId: string
      /** With it, the provider's script on the client's page authenticates the cardholder. */
      readonly clientSecret: string
    }

/** The captured part of the held money, in minor units. */
export interface Capture {
  readonly amountCapturedMinor: number
}

interface Declaration {
  /** The types of the arguments and of the result. They have no values. */
  readonly request: unknown
  readonly value: unknown
  /**
   * What keeps a second execution, under another provider key, from moving money again: the state of
   * the object that the call changes; the capture, without which a second hold takes no money; or
   * nothing but the provider key.
   */
  readonly onceBy: 'state' | 'capture' | 'key'
  /** Without this ability of the provider the call is refused, and its adapter need not have it. */
  readonly needs?: Ability
  readonly words: CallWords
}

const defineCall = <const Call extends Declaration>(call: Call): Call => call

export const providerCalls = {
  /**
   * Holds the amount of the payment on its payment method, without capturing it, or says that the
   * cardholder must authenticate.
   */
  authorize: defineCall({
    request: {} as { readonly payment: Payment },
    value: {} as Authorization,
    onceBy: 'capture',
    words: {
      object: 'payment',
      retry: 'the card may be charged',
      wrong:
        'the money of the customer is held or taken although the payment is shown as failed, and another payment for the same order charges a second time',
    },
  }),
  /**
   * Captures exactly the amount in minor units, by default all of what was authorized, and releases
   * the rest. A refusal says whether the payment is canceled: if not, its money may still be held.
   */
  capture: defineCall({
    request: {} as { readonly payment: Payment; readonly amountMinor?: number | undefined },
    value: {} as Capture,
    onceBy: 'state',
    words: {
      object: 'capture',
      retry: 'the held money may be taken',
      wrong: 'the held money is taken although the capture is shown as failed',
    },
  }),
  /**
   * Changes the held amount to a new total, in minor units. A decline changes nothing; it says
   * whether the payment is canceled.
   */
  adjust: defineCall({
    request: {} as { readonly payment: Payment; readonly amountMinor: number },
    value: {} as Hold,
    onceBy: 'state',
    needs: 'incrementalAuthorization',
    words: {
      object: 'change of the held amount',
      retry: 'the held amount may change',
      wrong: 'the held amount has changed although the change is shown as failed',
    },
  }),
  /**
   * Releases the held amount, and ends the payment. A payment that is already canceled is `done`,
   * with the reason that it has; a captured one is `declined`.
   */
  cancel: defineCall({
    request: {} as { readonly payment: Payment; readonly reason?: string | null },
    value: {} as Cancellation,
    onceBy: 'state',
    needs: 'void',
    words: {
      object: 'cancellation',
      retry: 'the held money may be released',
      wrong: 'the held money is released although the cancellation is shown as failed',
    },
  }),
  /** Returns exactly the refund's amount to the customer, from the captured money. */
  refund: defineCall({
    request: {} as { readonly payment: Payment; readonly refund: Refund },
    value: {} as RefundProviderStatus,
    onceBy: 'key',
    words: {
      object: 'refund',
      retry: 'the money may be returned',
      wrong:
        'the money is returned although the refund is shown as failed, and another refund for the same reason returns it a second time',
    },
  }),
}

export type CallName = keyof typeof providerCalls
export type CallRequest<Name extends CallName> = (typeof providerCalls)[Name]['request']
/** The result of the call of this name. */
export type CallValue<Name extends CallName> = (typeof providerCalls)[Name]['value']

export const callNames = Object.keys(providerCalls) as CallName[]

/** The declaration of a call; undefined for a look, or without a name. */
export function declarationOf(name: string | undefined): Declaration | undefined {
  return callNames.includes(name as CallName) ? providerCalls[name as CallName] : undefined
}

/**
 * Identifies a call at the provider. The provider key makes a repetition harmless: it is derived
 * from our row and the phase, never from the client's idempotency key. It changes only after the
 * provider may have kept a failure under it, in the transaction that concludes that nothing was
 * executed. The operation id is sent as metadata, so that the object can be found without the key.
 * Nothing may be sent after `sendBeforeMs` (by `performance.now()`): the lease of the caller ends then.
 */
export interface CallIdentity {
  readonly providerKey: string
  readonly operationId: string
  readonly sendBeforeMs: number
}

/** Where to look for the effect of a call whose answer was lost. */
export interface LookupCriteria {
  readonly operationId: string
  /** The earliest and the latest time at which the call can have been executed, by our clock. */
  readonly executedFrom: Date
  readonly executedTo: Date
  /** The provider's id of the payment, if one of its events or an operator named it. */
  readonly providerPaymentId: string | null
  /** The provider's id of the refund, if an operator named it. */
  readonly providerRefundId: string | null
}

/** A call of an adapter, and the lookup of its outcome when its answer was lost. */
export interface ProviderCall<Request, Value> {
  readonly execute: (request: Request, identity: CallIdentity) => Promise<Outcome<Value>>
  /**
   * Executes nothing. `done` and `declined`: the outcome of the executed call. `not_executed`: a
   * complete listing, or the state of its object, proves that it has had no effect so far; the
   * caller allows for a call that is still on its way. `unknown`: neither can be proved now;
   * `answered` has `looked: false` if the provider did not answer.
   */
  readonly find: (request: Request, criteria: LookupCriteria) => Promise<Outcome<Value>>
}

export type ProviderCalls = {
  readonly [Name in CallName]: ProviderCall<CallRequest<Name>, CallValue<Name>>
}

/** A call as an adapter implements it, for any connection to its provider. */
export interface AdapterCall<Connection, Name extends CallName> {
  execute(
    connection: Connection,
    request: CallRequest<Name>,
    identity: CallIdentity,
  ): Promise<Outcome<CallValue<Name>>>
  find(
    connection: Connection,
    request: CallRequest<Name>,
    criteria: LookupCriteria,
  ): Promise<Outcome<CallValue<Name>>>
}

/** The calls of an adapter. It may leave out those for which its provider lacks the ability. */
export type AdapterCalls<Connection> = {
  readonly [Name in CallName]?: AdapterCall<Connection, Name>
}

/**
 * The calls of an adapter at a connection. A call that its provider is not able to make is declined,
 * and nothing is sent.
 *
 * @throws Error when the adapter leaves out a call that its provider can make.
 */
export function connectCalls<Connection>(
  connection: Connection,
  capabilities: Capabilities,
  calls: AdapterCalls<Connection>,
): ProviderCalls {
  return eachCall((name) => {
    const { needs }: Declaration = providerCalls[name]
    if (needs !== undefined && !capabilities[needs]) {
      const declined = async () => declinedFor(name, needs)
      return { execute: declined, find: declined }
    }
    const call = calls[name] as AdapterCall<Connection, never> | undefined
    if (call === undefined) throw new Error(`the adapter has no ${name}`)
    return {
      execute: (request: never, identity) => call.execute(connection, request, identity),
      find: (request: never, criteria) => call.find(connection, request, criteria),
    }
  })
}

function declinedFor(call: string, needs: Ability): Declined {
  const failure = { code: 'not_supported', declineCode: null, message: abilities[needs].lack }
  const [asked, answered] = [{ call }, { error: 'not sent' }]
  return { outcome: 'declined', failure, providerPaymentId: null, asked, answered }
}

type AnyCall = ProviderCall<never, unknown>

/** Makes each call of the port by its name. */
export function eachCall(make: (name: CallName) => AnyCall): ProviderCalls {
  return Object.fromEntries(callNames.map((name) => [name, make(name)])) as unknown as ProviderCalls
}

/** Applies a function to each call, with the name of the call. */
export function mapCalls(
  calls: ProviderCalls,
  map: <Request, Value>(
    name: string,
    call: ProviderCall<Request, Value>,
  ) => ProviderCall<Request, Value>,
): ProviderCalls {
  return eachCall((name) => map(name, calls[name] as AnyCall))
}
