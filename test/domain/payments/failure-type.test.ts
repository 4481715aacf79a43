// Tests what refusals of the provider are about: an error in the setup of the merchant's account must
// not read as an error of the customer's card.
import { expect, test } from '@jest/globals'
import { failureTypeOf } from '../../../src/domain/payments/payment.ts'

test.each([
  ['card_declined', 'generic_decline', 'card_error'],
  ['card_declined', null, 'card_error'],
  ['a_new_code', 'a_new_reason', 'card_error'],
  ['resource_missing', null, 'invalid_request_error'],
  ['amount_too_small', null, 'invalid_request_error'],
  // Stripe has no code for "Your account cannot currently make live charges."
  ['invalid_request_error', null, 'api_error'],
  ['account_country_invalid_address', null, 'api_error'],
])('%s with decline code %s is a %s', (code, declineCode, expected) => {
  expect(failureTypeOf({ code, declineCode, message: '' })).toBe(expected)
})
