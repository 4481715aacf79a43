// Reads what a request asks of a PaymentIntent (https://docs.stripe.com/api/payment_intents/create).
import { refuseFraction, refuseSmallCharge } from './charge-amounts.ts'
import { captureMethods, incrementalSupport, type PaymentIntentTerms } from './payment-intent.ts'
import {
  readChoice,
  readMetadata,
  readObject,
  readString,
  readStrings,
  requireAmount,
  requireString,
  type Parameters,
} from '../requests/parameters.ts'
import { invalidParameter } from '../requests/stripe-errors.ts'

export function readTerms(
  params: Parameters,
  named: Pick<PaymentIntentTerms, 'customer' | 'payment_method'>,
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
    payment_method: named.payment_method,
    allowed_payment_method_types: allowed ?? null,
    payment_method_types: types ?? ['card'],
    customer: named.customer,
    description: readString(params, 'description') ?? null,
    metadata: readMetadata(params),
    payment_method_options: readMethodOptions(params),
  }
}

/** What a card is asked by default. */
export const cardOptions = {
  installments: null,
  mandate_options: null,
  network: null,
  request_three_d_secure: 'automatic',
}

function readMethodOptions(params: Parameters): PaymentIntentTerms['payment_method_options'] {
  const { card = {} } = readObject(params, 'payment_method_options')
  const name = 'request_incremental_authorization'
  const support = readChoice(card as Parameters, name, incrementalSupport)
  const asked = support && { [name]: support }
  return { card: { ...cardOptions, ...asked } }
}
