// Implements the endpoints of /v1/payment_methods, and the list of those of a customer
// (https://docs.stripe.com/api/payment_methods).
import type { Endpoint } from '../requests/endpoint.ts'
import { requireString } from '../requests/parameters.ts'
import { list } from '../requests/read-objects.ts'
import { noSuchObject, refusedByState } from '../requests/stripe-errors.ts'
import { readCustomer } from './customers.ts'
import type { SavedMethod } from './saved-method.ts'
import { findSavedMethod } from './saved-methods.ts'

/** POST /v1/payment_methods/:id/attach. */
export const attachPaymentMethod: Endpoint = ({ params, objectId, nowMs }, records) => {
  requireString(params, 'customer')
  const customer = readCustomer(params, records)
  const method = findSavedMethod(objectId, records, nowMs)
  if (method === undefined) throw noSuchObject('PaymentMethod', objectId, 'payment_method')
  if (method.customer !== null) {
    const message = 'The payment method you provided has already been attached to a customer.'
    throw refusedByState(message, {})
  }
  if (method.metadata.used === 'true') {
    const message =
      'This PaymentMethod was previously used without being attached to a Customer or was ' +
      'detached from a Customer, and may not be used again.'
    throw refusedByState(message, {})
  }
  const attached: SavedMethod = { ...method, customer }
  records.objects.save(attached)
  return { status: 200, body: attached }
}

const listPaymentMethods = list('payment_method', ['customer'])

/** GET /v1/customers/:id/payment_methods. */
export const listPaymentMethodsOfCustomer: Endpoint = (request, records) => {
  const customer = records.objects.get('customer', request.objectId).id
  return listPaymentMethods({ ...request, params: { ...request.params, customer } }, records)
}
