// The port to whoever moves the money. Every call takes the provider key that makes its repetition
// harmless, never retries by itself, never throws for what the provider did, and tells one outcome.
import type { Done, NotExecuted, Outcome } from '../domain/outcome.ts'
import type { Failure, Payment } from '../domain/payment.ts'
import type { Refund } from '../domain/refund.ts'

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

/**
 * Where a payment stands at the provider. `undecided`: its holder has not authenticated yet, or the
 * provider still works on it. `refused`: the holder failed, or the card was declined after all.
 */
export type Standing =
  | { readonly status: 'undecided' | 'held' | 'canceled' }
  | { readonly status: 'captured'; readonly amountCapturedMinor: number }
  | { readonly status: 'refused'; readonly failure: Failure }

/** Money on its way back to the customer. */
export interface Refunding {
  readonly providerRefundId: string
}

/**
 * What makes a repeated call harmless, and the call findable: the key is derived from our own row and
 * the phase, never from the client's key, and never made anew; the operation id goes into the
 * provider's metadata, so that the object can be found again without the key.
 */
export interface CallIdentity {
  readonly providerKey: string
  readonly operationId: string
}

export interface PaymentProvider {
  readonly name: string
  /** Holds the amount of the payment on its payment method, without taking it. */
  authorize(payment: Payment, identity: CallIdentity): Promise<Outcome<Authorization>>
  /** Takes an amount, in minor units, out of what was authorized, and releases the rest. */
  capture(payment: Payment, amountMinor: number, identity: CallIdentity): Promise<Outcome<Capture>>
  /** Releases what was authorized, and ends the payment. */
  cancel(payment: Payment, reason: string | null, identity: CallIdentity): Promise<Outcome<null>>
  /** Gives the refund's amount back, out of what was captured. */
  refund(payment: Payment, refund: Refund, identity: CallIdentity): Promise<Outcome<Refunding>>
  /** Looks where the payment stands. Executes nothing, so that it is `done` or `not_executed`. */
  retrieve(payment: Payment): Promise<Done<Standing> | NotExecuted>
}
