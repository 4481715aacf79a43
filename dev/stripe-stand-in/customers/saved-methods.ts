// Finds the payment methods that the stand-in stores, and decides which of them may pay an intent.
// A payment method that is attached to a customer pays only together with that customer. One that
// is not attached pays once.
//
// Sources: the comments at `payment_method` and `customer` of PaymentIntentCreateParams in the
// package stripe. The refusals are quoted in github.com/ezet/stripe-sdk/issues/49 and
// github.com/Automattic/woocommerce-payments/issues/323.
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import { findPaymentMethod } from '../payment-intents/payment-methods.ts'
import { readString, type Parameters } from '../requests/parameters.ts'
import { invalidParameter, refusedByState } from '../requests/stripe-errors.ts'
import type { Records } from '../storage.ts'
import { newSavedMethod, type SavedMethod, type UsedMethod } from './saved-method.ts'

/** Finds a payment method by its id, or makes one of a test token. */
export function findSavedMethod(
  id: string,
  { objects }: Records,
  nowMs: number,
): SavedMethod | undefined {
  if (findPaymentMethod(id) !== undefined) return newSavedMethod(id, nowMs)
  return objects.find('payment_method', id)
}

/** The behavior of a payment method, with its id. */
export function cardOf(saved: SavedMethod): UsedMethod {
  const token = saved.metadata.test_card
  const card = findPaymentMethod(token)
  if (card === undefined) throw new Error(`there is no test card ${token}`)
  return { ...card, id: saved.id, saved }
}

/** How the payment method of an intent behaves. */
export function behaviorOf(
  { payment_method: id }: PaymentIntent,
  { objects }: Pick<Records, 'objects'>,
): UsedMethod | undefined {
  const method = id === null ? undefined : objects.find('payment_method', id)
  return method && cardOf(method)
}

/**
 * Reads the payment method that shall pay an intent of this customer.
 *
 * @throws StripeError 400 when there is none with this id, or when it may not pay this intent.
 */
export function readMethod(
  params: Parameters,
  records: Records,
  { nowMs, customer, intent }: { nowMs: number; customer: string | null; intent?: PaymentIntent },
): SavedMethod | undefined {
  const id = readString(params, 'payment_method')
  if (id === undefined) return undefined
  const method = findSavedMethod(id, records, nowMs)
  if (method === undefined) {
    const message = `No such PaymentMethod: '${id}'`
    throw invalidParameter('payment_method', message, 'resource_missing')
  }
  const named = intent === undefined ? {} : { payment_intent: intent }
  refuseUnlessOf(method, customer, named)
  if (method.metadata.used === 'true') {
    const message =
      'The provided PaymentMethod was previously used with a PaymentIntent without Customer ' +
      'attachment, shared with a connected account without Customer attachment, or was detached ' +
      'from a Customer. It may not be used again. To use a PaymentMethod multiple times, you must ' +
      'attach it to a Customer first.'
    throw refusedByState(message, named)
  }
  return method
}

/** The messages name the customer to which the payment method is attached. */
function refuseUnlessOf(
  { id, customer: owner }: SavedMethod,
  customer: string | null,
  named: { payment_intent?: PaymentIntent },
): void {
  if (owner === null || owner === customer) return
  const param = 'payment_method'
  if (customer === null) {
    const message =
      `The \`payment_method\` parameter supplied ${id} belongs to the Customer ${owner}. Please ` +
      'include the Customer in the `customer` parameter on the PaymentIntent.'
    throw refusedByState(message, { code: 'parameter_missing', param, ...named })
  }
  const message =
    `The PaymentMethod ${id} does not belong to the Customer you supplied ${customer}. Please use ` +
    'this PaymentMethod with the Customer that it belongs to instead.'
  throw refusedByState(message, { param, ...named })
}

/** The payment method after it has paid or was declined. */
export function usedMethod(method: SavedMethod): SavedMethod {
  if (method.customer !== null) return method
  return { ...method, metadata: { ...method.metadata, used: 'true' } }
}
