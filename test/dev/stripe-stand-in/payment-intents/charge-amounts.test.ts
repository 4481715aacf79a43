// Tests the amounts that Stripe refuses: small charges, and fractions that a currency does not have.
import { expect, test } from '@jest/globals'
import { payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

const provider = providerOfFile()

test.each([
  ['usd', 50, 'Amount must be at least $0.50 usd'],
  ['gbp', 30, 'Amount must be at least \u00A30.30 gbp'],
  ['jpy', 50, 'Amount must be at least \u00A550 jpy'],
  ['cop', 50, 'Amount must be at least $0.50 cop'],
  ['mxn', 1_000, 'Amount must be at least $10.00 mxn'],
])('refuses a charge below the minimum in %s', async (currency, minimum, message) => {
  const { paymentIntents } = provider.stripe
  const paid = await paymentIntents.create(payment({ currency, amount: minimum }))
  const before = await provider.executed()

  await expect(
    paymentIntents.create(payment({ currency, amount: minimum - 1 })),
  ).rejects.toMatchObject({
    type: 'StripeInvalidRequestError',
    statusCode: 400,
    code: 'amount_too_small',
    param: 'amount',
    message,
  })

  expect(paid.status).toBe('succeeded')
  expect(await provider.executed()).toEqual(before)
})

test.each([
  ['isk', 10_000, 10_050, /Currency ISK has become effectively zero-decimal/],
  ['ugx', 10_000, 10_050, /Currency UGX .* evenly divisible by 100/],
  ['kwd', 5_120, 5_124, /last digit must be 0 in KWD/],
])('refuses fractions of %s in every flow', async (currency, whole, fraction, message) => {
  const { paymentIntents, refunds } = provider.stripe
  const refusal = (param: string) => ({
    statusCode: 400,
    code: undefined,
    param,
    message: expect.stringMatching(message),
  })
  const create = (amount: number) =>
    paymentIntents.create(
      payment({
        amount,
        currency,
        capture_method: 'manual',
        payment_method_options: { card: { request_incremental_authorization: 'if_available' } },
      }),
    )
  const { id } = await create(whole)

  await expect(create(fraction)).rejects.toMatchObject(refusal('amount'))
  await expect(
    paymentIntents.incrementAuthorization(id, { amount: fraction }),
  ).rejects.toMatchObject(refusal('amount'))
  await expect(paymentIntents.capture(id, { amount_to_capture: whole - 1 })).rejects.toMatchObject(
    refusal('amount_to_capture'),
  )
  await paymentIntents.capture(id)
  await expect(refunds.create({ payment_intent: id, amount: 1 })).rejects.toMatchObject(
    refusal('amount'),
  )

  expect((await refunds.create({ payment_intent: id })).amount).toBe(whole)
})
