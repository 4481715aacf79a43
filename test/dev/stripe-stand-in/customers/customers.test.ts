// Tests that customers and payment methods have the owners that they have at Stripe, by Stripe's
// official client. The refusals are Stripe's words.
import { describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { createClient, payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

const provider = providerOfFile()

const charge = (terms: Parameters<typeof payment>[0]) =>
  provider.stripe.paymentIntents.create(payment(terms))

const makeCustomer = async () => (await provider.stripe.customers.create({ name: 'Ada' })).id

/** A customer with an attached card. */
async function saveCard(token = 'pm_card_visa'): Promise<{ customer: string; card: string }> {
  const customer = await makeCustomer()
  return { customer, card: (await provider.stripe.paymentMethods.attach(token, { customer })).id }
}

/** The id of the payment method that an intent has. */
function methodOf({ payment_method: method }: Stripe.PaymentIntent): string {
  if (typeof method !== 'string') throw new Error('the intent has no payment method')
  return method
}

/** A card that is attached to no customer, as a browser makes one. */
async function looseCard(): Promise<string> {
  const intent = await provider.stripe.paymentIntents.create(payment({ confirm: false }))
  return methodOf(intent)
}

describe('a customer', () => {
  test('that does not exist is 404 in the URL and 400 in a parameter, both resource_missing', async () => {
    const missing = { code: 'resource_missing', message: "No such customer: 'cus_none'" }

    await expect(provider.stripe.customers.retrieve('cus_none')).rejects.toMatchObject({
      statusCode: 404,
      ...missing,
    })
    await expect(charge({ customer: 'cus_none' })).rejects.toMatchObject({
      statusCode: 400,
      param: 'customer',
      ...missing,
    })
  })

  test.each([
    ['a key of another account', 'sk_test_acctother_1', undefined],
    ['a key of the other mode', 'sk_live_mock', undefined],
    ['the header Stripe-Account', 'sk_test_mock', 'acct_other'],
  ])('does not exist for %s', async (_who, apiKey, stripeAccount) => {
    const customer = await makeCustomer()
    const others = createClient(Number(new URL(provider.url).port), { apiKey })
    const options = stripeAccount === undefined ? {} : { stripeAccount }

    const attempt = others.customers.retrieve(customer, {}, options)

    await expect(attempt).rejects.toMatchObject({ statusCode: 404, code: 'resource_missing' })
    const own = await others.customers.create({}, options)
    expect(await others.customers.retrieve(own.id, {}, options)).toMatchObject({ id: own.id })
  })

  test('cannot be read by a restricted key without the permission: 403', async () => {
    const restricted = createClient(Number(new URL(provider.url).port), {
      apiKey: 'rk_test_no-customers_1',
    })
    const customer = await makeCustomer()

    await expect(restricted.customers.retrieve(customer)).rejects.toMatchObject({
      type: 'StripePermissionError',
      statusCode: 403,
    })
    const intent = await restricted.paymentIntents.create(payment({ customer }))
    expect(intent.status).toBe('succeeded')
  })
})

describe('a payment method that is attached to a customer', () => {
  test('is listed with its customer, and pays with it again and again', async () => {
    const { customer, card } = await saveCard()

    const { data } = await provider.stripe.customers.listPaymentMethods(customer)
    expect(data.map(({ id }) => id)).toEqual([card])
    for (const _ of [1, 2]) {
      const intent = await charge({ customer, payment_method: card })
      expect(intent).toMatchObject({ status: 'succeeded', payment_method: card })
    }
  })

  test('cannot be used without the customer, and the refusal names the customer', async () => {
    const { customer, card } = await saveCard()
    const before = await provider.executed()

    await expect(charge({ payment_method: card })).rejects.toMatchObject({
      statusCode: 400,
      code: 'parameter_missing',
      param: 'payment_method',
      message:
        `The \`payment_method\` parameter supplied ${card} belongs to the Customer ${customer}. ` +
        'Please include the Customer in the `customer` parameter on the PaymentIntent.',
    })
    expect(await provider.executed()).toEqual(before)
  })
})

describe('a payment method that is attached to no customer', () => {
  const usedBefore = { statusCode: 400, message: expect.stringContaining('was previously used') }

  test('pays once, and cannot be used again nor attached', async () => {
    const card = await looseCard()
    await charge({ payment_method: card })

    await expect(charge({ payment_method: card })).rejects.toMatchObject(usedBefore)
    const customer = await makeCustomer()
    await expect(charge({ payment_method: card, customer })).rejects.toMatchObject(usedBefore)
    await expect(provider.stripe.paymentMethods.attach(card, { customer })).rejects.toMatchObject(
      usedBefore,
    )
  })
})

test('a test token becomes a new payment method at each use', async () => {
  const [first, second] = [await charge({}), await charge({})]

  expect(first.payment_method).toMatch(/^pm_[A-Za-z]{24}$/)
  expect(second.payment_method).not.toBe(first.payment_method)
  const method = await provider.stripe.paymentMethods.retrieve(methodOf(first))
  expect(method).toMatchObject({ id: first.payment_method, customer: null, type: 'card' })
})

test('a payment method that does not exist is 400, 404 in the URL', async () => {
  const missing = { code: 'resource_missing' }

  await expect(charge({ payment_method: 'pm_none' })).rejects.toMatchObject(missing)
  await expect(provider.stripe.paymentMethods.retrieve('pm_none')).rejects.toMatchObject({
    ...missing,
    statusCode: 404,
  })
})
