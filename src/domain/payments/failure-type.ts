// Tells what a refusal of the provider is about, in Stripe's types of errors: the card, the request,
// or the merchant's account at the provider, which no client can mend.
import type { Failure } from './payment.ts'

export const failureTypes = ['card_error', 'invalid_request_error', 'api_error'] as const

/** Stripe's codes for cards, and ours for an authorization that ended without a capture. */
const ABOUT_THE_CARD = new Set([
  'authentication_required',
  'canceled',
  'card_declined',
  'card_error',
  'expired_card',
  'incorrect_address',
  'incorrect_cvc',
  'incorrect_number',
  'incorrect_zip',
  'insufficient_funds',
  'invalid_cvc',
  'invalid_expiry_month',
  'invalid_expiry_year',
  'invalid_number',
  'payment_intent_authentication_failure',
  'processing_error',
])

/** Stripe names what the code is about first. */
const ABOUT_THE_REQUEST =
  /^(amount|capture_charge|charge|customer|payment_intent|payment_method|resource)_/

/** @see https://docs.stripe.com/error-codes */
export function failureTypeOf({ code, declineCode }: Failure): (typeof failureTypes)[number] {
  if (declineCode !== null || ABOUT_THE_CARD.has(code) || code.startsWith('card_')) {
    return 'card_error'
  }
  return ABOUT_THE_REQUEST.test(code) ? 'invalid_request_error' : 'api_error'
}
