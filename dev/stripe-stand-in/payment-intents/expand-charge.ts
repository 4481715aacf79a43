// Expands the latest charge of an intent in an answer, if the request asks for it
// (https://docs.stripe.com/api/expanding_objects).
import type Stripe from 'stripe'
import type { Endpoint } from '../requests/endpoint.ts'
import { chargeOf } from './charge.ts'
import type { PaymentIntent } from './payment-intent.ts'
import { readExpand } from '../requests/expand.ts'
import type { Records } from '../storage.ts'

/** The endpoint answers with one intent, or with an error, of which nothing is expanded. */
export function expandingCharge(endpoint: Endpoint<PaymentIntent>): Endpoint {
  return (request, records) => {
    const isExpanded = readExpand(request.params, ['latest_charge']).has('latest_charge')
    const answer = endpoint(request, records)
    if (!isExpanded || 'error' in answer.body) return answer
    return { ...answer, body: expand(answer.body, records) }
  }
}

/** The same for a list. */
export function expandingCharges(endpoint: Endpoint<Stripe.ApiList<PaymentIntent>>): Endpoint {
  return (request, records) => {
    const isExpanded = readExpand(request.params, ['data.latest_charge']).has('data.latest_charge')
    const answer = endpoint(request, records)
    if (!isExpanded || 'error' in answer.body) return answer
    const { data, ...list } = answer.body
    return { ...answer, body: { ...list, data: data.map((intent) => expand(intent, records)) } }
  }
}

function expand(intent: PaymentIntent, { objects, holds }: Records): Stripe.PaymentIntent {
  if (intent.latest_charge === null) return intent
  const charge = chargeOf(intent, objects, holds.captureBefore(intent.id))
  return { ...intent, latest_charge: charge }
}
