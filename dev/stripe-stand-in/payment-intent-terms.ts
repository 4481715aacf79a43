// Reads what a request asks of a PaymentIntent (https://docs.stripe.com/api/payment_intents/create).
import { refuseFraction, refuseSmallCharge } from './charge-amounts.ts'
import {
  captureMethods,
  incrementalSupport,
  type PaymentIntentTerms,
  type PaymentMethodOptions,
} from './payment-intent.ts'
import {
  readChoice,
  readMetadata,
  readObject,
  readString,
  readStrings,
  requireAmount,
  requireString,
  type Parameters,
} from './parameters.ts'
import { findPaymentMethod, type PaymentMethod } from './payment-methods.ts'
import { invalidParameter } from './stripe-errors.ts'

export function readTerms(
  params: Parameters,
  method: PaymentMethod | undefined,
): PaymentIntentTerms {
  const amount = requireAmount(params, 'amount')
  const currency = requireString(params, 'currency').toLowerCase()
  if (!/^[a-z]{3}$/.test(currency)) {
    throw invalidParameter('currency', `Invalid currency: ${currency}`)
  }
  refuseSmallCharge(amount, currency)
  refuseFraction(amount, currency)
  const allowed = readStrings(params, 'allowed_payment_method_types')
  // The former name of this parameter.
  const types = allowed ?? readStrings(params, 'payment_method_types')
  return {
    amount,
    currency,
    capture_method: readChoice(params, 'capture_method', captureMethods) ?? 'automatic_async',
    payment_method: method?.id ?? null,
    allowed_payment_method_types: allowed ?? null,
    payment_method_types: types ?? ['card'],
    customer: readString(params, 'customer') ?? null,
    description: readString(params, 'description') ?? null,
    metadata: readMetadata(params),
    payment_method_options: readMethodOptions(params),
  }
}

function readMethodOptions(params: Parameters): PaymentMethodOptions {
  const { card = {} } = readObject(params, 'payment_method_options')
  const name = 'request_incremental_authorization'
  const support = readChoice(card as Parameters, name, incrementalSupport)
  return support === undefined ? {} : { card: { request_incremental_authorization: support } }
}

export function readPaymentMethod(params: Parameters): PaymentMethod | undefined {
  const id = readString(params, 'payment_method')
  if (id === undefined) return undefined
  const method = findPaymentMethod(id)
  if (method === undefined) {
    const message = `No such PaymentMethod: '${id}'`
    throw invalidParameter('payment_method', message, 'resource_missing')
  }
  return method
}
