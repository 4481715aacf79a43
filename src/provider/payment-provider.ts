// The port to whoever moves the money. Every call takes the provider key that makes its repetition
// harmless, never retries by itself, never throws for what the provider did, and tells one outcome.
import type { Done, NotExecuted, Outcome } from '../domain/operations/outcome.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Standing } from '../domain/payments/standing.ts'
import type { Refund } from '../domain/payments/refund.ts'

/** Money held on a card, or a card whose holder has to authenticate first. */
export type Authorization =
  | { readonly status: 'held'; readonly providerPaymentId: string }
  | {
      readonly status: 'requires_action'
      readonly providerPaymentId: string
      /** Lets a page of the client's, with the provider's script, ask the holder. */
      readonly clientSecret: string
    }

/** Money taken from what was held, in minor units. */
export interface Capture {
  readonly amountCapturedMinor: number
}

/** Money on its way back to the customer. */
export interface RefundAcceptance {
  readonly providerRefundId: string
}

/** Where a call whose answer was lost may have left its trace. */
export interface Trace {
  readonly operationId: string
  /** When the call can have been made, by our clock: the first and the last moment. */
  readonly calledFrom: Date
  readonly calledTo: Date
  /** The provider's id of the payment, when its events or an operator have named one. */
  readonly providerPaymentId: string | null
  /** The provider's id of the refund, when an operator has named one. */
  readonly providerRefundId: string | null
}

/**
 * A payment as the provider's own records have it. `standing` is undefined when it is in a state that
 * no payment of ours can be in.
 */
export interface ProviderPayment {
  readonly providerPaymentId: string
  readonly amountMinor: number
  readonly currency: string
  readonly standing: Standing | undefined
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** A refund as the provider's own records have it. */
export interface ProviderRefund {
  readonly providerRefundId: string
  readonly providerPaymentId: string | null
  readonly amountMinor: number
  readonly currency: string
  readonly status: 'succeeded' | 'pending' | 'failed' | 'undecided'
  readonly createdAt: Date
  readonly correlation: Correlation | null
}

/** Money that moved on the provider's balance; positive amounts in minor units, before fees. */
export interface ProviderMovement {
  readonly movementId: string
  readonly kind: 'capture' | 'refund'
  readonly amountMinor: number
  readonly currency: string
  /** The payment that was captured or refunded. */
  readonly providerPaymentId: string | null
  /** The refund, of a movement that is one. */
  readonly providerRefundId: string | null
  readonly createdAt: Date
  /** That of the charge or refund which has moved. */
  readonly correlation: Correlation | null
}

/** Whose record it is, by the metadata that our own calls give every object. */
export interface Correlation {
  readonly tenantId: string
  readonly paymentId: string
  readonly refundId: string | null
  readonly operationId: string
}

/** A window of the provider's records, by the time at which they were made; its end is not included. */
export interface Window {
  readonly from: Date
  readonly to: Date
}

/**
 * Is told of a page that has failed in passing and is about to be asked for once more. Throws to end the
 * list instead.
 */
export type OnRepeat = (failure: unknown) => void

/**
 * What makes a repeated call harmless, and the call findable: the key is derived from our own row and
 * the phase, never from the client's key, and never made anew; the operation id goes into the
 * provider's metadata, so that the object can be found again without the key.
 */
export interface CallIdentity {
  readonly providerKey: string
  readonly operationId: string
}

/** A call that moves money, and the look-up of what it did when its answer was lost. */
export interface ProviderCall<Request, Value> {
  readonly execute: (request: Request, identity: CallIdentity) => Promise<Outcome<Value>>
  /**
   * Executes nothing. `done` and `declined`: the call was executed, and this is how it ended. `not_executed`:
   * proved by a complete listing, or by the state of its object, that it has left nothing so far; the caller
   * waits for a call that is still on its way. `unknown`: that cannot be told now.
   */
  readonly find: (request: Request, trace: Trace) => Promise<Outcome<Value>>
}

/**
 * Every call that moves money. An operation names them in its phase table, and the engine reaches the
 * provider through them alone, so that the circuit breaker guards a new one without being told. The comment
 * of each says what an adapter must promise.
 */
export interface ProviderCalls {
  /**
   * Holds the amount of the payment on its payment method, without taking it, or says that the cardholder has
   * to authenticate.
   */
  readonly authorize: ProviderCall<{ readonly payment: Payment }, Authorization>
  /**
   * Takes exactly the amount in minor units, by default the whole, out of what was authorized; releases the
   * rest.
   */
  readonly capture: ProviderCall<
    { readonly payment: Payment; readonly amountMinor?: number | undefined },
    Capture
  >
  /** Holds another total, in minor units. A decline leaves the previous one held. */
  readonly adjust: ProviderCall<{ readonly payment: Payment; readonly amountMinor: number }, null>
  /**
   * Releases what was authorized, and ends the payment. What is canceled already is `done`; what was captured
   * is `declined`.
   */
  readonly cancel: ProviderCall<
    { readonly payment: Payment; readonly reason?: string | null },
    null
  >
  /** Returns exactly the refund's amount to the customer, out of what was captured. */
  readonly refund: ProviderCall<
    { readonly payment: Payment; readonly refund: Refund },
    RefundAcceptance
  >
}

export type CallName = keyof ProviderCalls
export type CallRequest<Name extends CallName> = Parameters<ProviderCalls[Name]['execute']>[0]
/** What a call of that name has done. */
export type CallValue<Name extends CallName> =
  ProviderCalls[Name] extends ProviderCall<infer _Request, infer Value> ? Value : never

export interface PaymentProvider {
  readonly name: string
  readonly calls: ProviderCalls
  /** Reads where the payment stands. Executes nothing, so that it is `done` or `not_executed`. */
  retrieve(payment: Payment): Promise<Done<Standing> | NotExecuted>

  // The provider's own records of a window, page by page, newest first. They throw what the connection
  // throws, and when a record makes no sense: whoever compares begins again. Times of the provider's
  // may be coarse: a window that begins or ends within a second is widened to all of that second. A page
  // that fails in passing is asked for a few times more, because a list executes nothing.
  listPayments(window: Window, onRepeat?: OnRepeat): AsyncIterable<readonly ProviderPayment[]>
  listRefunds(window: Window, onRepeat?: OnRepeat): AsyncIterable<readonly ProviderRefund[]>
  listMovements(window: Window, onRepeat?: OnRepeat): AsyncIterable<readonly ProviderMovement[]>
  /** One record by its id; undefined when the provider has none of that id. */
  readPayment(providerPaymentId: string): Promise<ProviderPayment | undefined>
  readRefund(providerRefundId: string): Promise<ProviderRefund | undefined>
}
