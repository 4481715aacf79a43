// The port to whoever moves the money. Every call takes the provider key that makes its repetition
// harmless, never retries by itself, never throws for what the provider did, and tells one outcome.
import type { Outcome } from '../domain/outcome.ts'
import type { Payment } from '../domain/payment.ts'

/** Money held on a card. */
export interface Authorization {
  readonly providerPaymentId: string
}

/** Money taken from what was held, in minor units. */
export interface Capture {
  readonly amountCapturedMinor: number
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
  /** Takes the whole amount that was authorized. */
  capture(payment: Payment, identity: CallIdentity): Promise<Outcome<Capture>>
}
