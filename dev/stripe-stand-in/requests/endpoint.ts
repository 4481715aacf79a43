// Defines an endpoint of the API, a function from a parsed request and the tables to an answer, and
// that answer before it is serialized.
import type Stripe from 'stripe'
import type { ApiRequest } from './api-request.ts'
import type { Records } from '../storage.ts'
import type { ErrorBody } from './stripe-errors.ts'

/** What the API shows, as the types of Stripe's package describe it. */
type Shown =
  | Stripe.Account
  | Stripe.BalanceTransaction
  | Stripe.Charge
  | Stripe.Customer
  | Stripe.Dispute
  | Stripe.PaymentIntent
  | Stripe.PaymentMethod
  | Stripe.Radar.EarlyFraudWarning
  | Stripe.Refund

type AnyBody = Shown | Stripe.ApiList<Shown> | Stripe.ApiSearchResult<Shown>

export interface Answer<Body = AnyBody> {
  status: number
  body: Body | ErrorBody
}

/** An endpoint runs as one transaction. It may throw a StripeError only before its first write. */
export type Endpoint<Body = AnyBody> = (request: ApiRequest, records: Records) => Answer<Body>
