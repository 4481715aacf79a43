// Defines an endpoint of the API, a function from a parsed request and the tables to an answer, and
// that answer before it is serialized.
import type Stripe from 'stripe'
import type { ApiRequest } from './api-request.ts'
import type { ApiObjects, ObjectKind } from '../objects.ts'
import type { Records } from '../storage.ts'
import type { ErrorBody } from './stripe-errors.ts'

/** What the API shows, as the types of Stripe's package describe it. */
type Shown = Stripe.Account | ApiObjects[ObjectKind]

export interface Answer {
  status: number
  body: Shown | Stripe.ApiList<Shown> | Stripe.ApiSearchResult<Shown> | ErrorBody
}

/** An endpoint runs as one transaction. It may throw a StripeError only before its first write. */
export type Endpoint = (request: ApiRequest, records: Records) => Answer
