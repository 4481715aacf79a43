// Reads what a request asks of a PaymentIntent (https://docs.stripe.com/api/payment_intents/create).
import { stripeCurrencies, stripeDecimals } from '../currencies.ts'
import { refuseFraction, refuseLargeCharge, refuseSmallCharge } from './charge-amounts.ts'
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
import { exclusiveParameters, invalidParameter } from '../requests/stripe-errors.ts'

export function readTerms(
  params: Parameters,
  named: Pick<PaymentIntentTerms, 'customer' | 'payment_method'>,
): PaymentIntentTerms {
  const amount = requireAmount(params, 'amount')
  const currency = requireString(params, 'currency').toLowerCase()
  if (stripeDecimals(currency) === undefined) {
    const message =
      `Invalid currency: ${currency}. Stripe currently supports these currencies: ` +
      stripeCurrencies.join(', ')
    throw invalidParameter('currency', message)
  }
  refuseSmallCharge(amount, currency)
  refuseLargeCharge(amount, currency)
  refuseFraction(amount, currency)
  const allowed = readStrings(params, 'allowed_payment_method_types')
  refuseExclusive(params)
  return {
    amount,
    currency,
    capture_method: readChoice(params, 'capture_method', captureMethods) ?? 'automatic_async',
    payment_method: named.payment_method,
    allowed_payment_method_types: allowed ?? null,
    payment_method_types: allowed ?? ['card'],
    customer: named.customer,
    description: readString(params, 'description') ?? null,
    metadata: readMetadata(params),
    payment_method_options: readMethodOptions(params),
  }
}

/** Of each pair, Stripe takes one. */
const EXCLUSIVE = [
  ['automatic_payment_methods', 'allowed_payment_method_types'],
  ['excluded_payment_method_types', 'allowed_payment_method_types'],
  ['confirmation_token', 'payment_method'],
  ['payment_method_data', 'payment_method'],
] as const

/** What Stripe takes only from a request that also confirms. */
const WITH_CONFIRM = ['off_session', 'error_on_requires_action', 'mandate', 'mandate_data']

function refuseExclusive(params: Parameters): void {
  const pair = EXCLUSIVE.find((names) => names.every((name) => params[name] !== undefined))
  if (pair !== undefined) throw exclusiveParameters(pair[0], pair[1])
  const alone = WITH_CONFIRM.find((name) => params[name] !== undefined)
  if (alone !== undefined && params['confirm'] !== 'true') {
    throw invalidParameter(alone, `You can only pass ${alone} when confirm=true.`)
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
