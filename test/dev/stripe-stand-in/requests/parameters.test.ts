// Tests invalid parameters: each is refused with Stripe's code and with its name.
import { expect, test } from '@jest/globals'
import { payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

const provider = providerOfFile()

test.each([
  ['a missing amount', { amount: undefined }, 'parameter_missing', 'amount'],
  ['a missing currency', { currency: undefined }, 'parameter_missing', 'currency'],
  ['an amount of letters', { amount: 'ten' }, 'parameter_invalid_integer', 'amount'],
  ['a fraction', { amount: 1.5 }, 'parameter_invalid_integer', 'amount'],
  ['an unsafe amount', { amount: '9007199254740993' }, 'parameter_invalid_integer', 'amount'],
  ['an amount of zero', { amount: 0 }, 'amount_too_small', 'amount'],
  ['a wrong currency', { currency: 'euro' }, undefined, 'currency'],
  ['a wrong capture method', { capture_method: 'later' }, undefined, 'capture_method'],
  ['an unknown method', { payment_method: 'pm_x' }, 'resource_missing', 'payment_method'],
  ['no method to confirm', { payment_method: undefined }, 'parameter_missing', 'payment_method'],
  ['metadata that is text', { metadata: 'text' }, undefined, 'metadata'],
  ['a list of amounts', { amount: ['1'] }, undefined, 'amount'],
  [
    'payment method types that are no list',
    { allowed_payment_method_types: 'card' },
    'parameter_invalid_array',
    null,
  ],
])('refuses %s', async (_case, terms, code, param) => {
  const attempt = provider.stripe.paymentIntents.create({ ...payment(), ...terms } as never)

  await expect(attempt).rejects.toMatchObject({
    type: 'StripeInvalidRequestError',
    statusCode: 400,
    code,
    ...(param && { param }),
  })
})
