// Implements the endpoints of /v1/disputes (https://docs.stripe.com/api/disputes). The intent can be
// expanded.
import type Stripe from 'stripe'
import type { Endpoint } from '../requests/endpoint.ts'
import { readExpand } from '../requests/expand.ts'
import { listPage } from '../requests/list-page.ts'
import type { Records } from '../storage.ts'
import { noSuchObject } from '../requests/stripe-errors.ts'
import type { Dispute } from './dispute.ts'

/** GET /v1/disputes. */
export const listDisputes: Endpoint = (request, records) => {
  const isExpanded = readExpand(request.params, ['data.payment_intent']).size > 0
  const page = listPage(request, records, 'dispute', ['charge', 'payment_intent'])
  const { data, ...list } = page.body
  return { ...page, body: { ...list, data: data.map((one) => expand(one, isExpanded, records)) } }
}

/** GET /v1/disputes/:id. */
export const retrieveDispute: Endpoint = ({ objectId, params }, records) => {
  const isExpanded = readExpand(params, ['payment_intent']).size > 0
  const dispute = records.objects.find('dispute', objectId)
  if (dispute === undefined) throw noSuchObject('dispute', objectId, 'dispute')
  return { status: 200, body: expand(dispute, isExpanded, records) }
}

/** An intent that a test removed stays an id. */
function expand(dispute: Dispute, isExpanded: boolean, { objects }: Records): Stripe.Dispute {
  const { payment_intent: id } = dispute
  if (!isExpanded) return dispute
  return { ...dispute, payment_intent: objects.find('payment_intent', id) ?? id }
}
