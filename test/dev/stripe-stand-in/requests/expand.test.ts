// Tests the parameter `expand` with one payment, its refund, its dispute and its warning.
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { payment } from '../running-provider.ts'
import { providerOfFile } from '../../../support/own-provider.ts'

type Expand = { expand: string[] }

const provider = providerOfFile()
let paid: Stripe.PaymentIntent & { customer: string; payment_method: string }
let refund: Stripe.Refund & { balance_transaction: string }
let disputed: Stripe.Dispute
let warning: Stripe.Radar.EarlyFraudWarning

beforeAll(async () => {
  const { stripe } = provider
  const customer = (await stripe.customers.create()).id
  const terms = { customer, payment_method: 'pm_card_createIssuerFraudRecord' }
  paid = (await stripe.paymentIntents.create(payment(terms))) as typeof paid
  const part = { payment_intent: paid.id, amount: 300 }
  refund = (await stripe.refunds.create(part)) as typeof refund
  ;[warning] = (await stripe.radar.earlyFraudWarnings.list()).data as [typeof warning]
  disputed = await provider.control('POST', '/disputes', { payment_intent: paid.id })
})

const reads: Record<string, (params: Expand) => Promise<unknown>> = {
  'an intent': (params) => provider.stripe.paymentIntents.retrieve(paid.id, params),
  'a refund': (params) => provider.stripe.refunds.retrieve(refund.id, params),
  'a dispute': (params) => provider.stripe.disputes.retrieve(disputed.id, params),
  'a warning': (params) => provider.stripe.radar.earlyFraudWarnings.retrieve(warning.id, params),
  'a movement': (params) =>
    provider.stripe.balanceTransactions.retrieve(refund.balance_transaction, params),
  'a payment method': (params) =>
    provider.stripe.paymentMethods.retrieve(paid.payment_method, params),
  'a customer': (params) => provider.stripe.customers.retrieve(paid.customer, params),
  intents: (params) => provider.stripe.paymentIntents.list(params),
  refunds: (params) => provider.stripe.refunds.list(params),
  disputes: (params) => provider.stripe.disputes.list(params),
  warnings: (params) => provider.stripe.radar.earlyFraudWarnings.list(params),
  movements: (params) => provider.stripe.balanceTransactions.list({ ...params, type: 'charge' }),
}

async function read(what: string, ...expand: string[]): Promise<unknown> {
  return await reads[what]?.({ expand })
}

/** What is at a path; of a list its first member. */
function at(value: unknown, path: string): unknown {
  const names = path.replace(/^data\b/, 'data.0').split('.')
  return names.reduce((object, name) => (object as Record<string, unknown>)[name], value)
}

describe('expands', () => {
  test.each([
    ['an intent', 'latest_charge', 'charge'],
    ['an intent', 'latest_charge.balance_transaction', 'balance_transaction'],
    ['an intent', 'latest_charge.balance_transaction.source.payment_intent', 'payment_intent'],
    ['an intent', 'payment_method', 'payment_method'],
    ['an intent', 'customer', 'customer'],
    ['a refund', 'payment_intent', 'payment_intent'],
    ['a refund', 'charge.customer', 'customer'],
    ['a refund', 'balance_transaction', 'balance_transaction'],
    ['a dispute', 'payment_intent.customer', 'customer'],
    ['a dispute', 'charge.balance_transaction', 'balance_transaction'],
    ['a warning', 'payment_intent', 'payment_intent'],
    ['a warning', 'charge', 'charge'],
    ['a movement', 'source.charge', 'charge'],
    ['intents', 'data.latest_charge.balance_transaction', 'balance_transaction'],
    ['intents', 'data.payment_method', 'payment_method'],
    ['refunds', 'data.charge.balance_transaction', 'balance_transaction'],
    ['disputes', 'data.payment_intent.latest_charge', 'charge'],
    ['warnings', 'data.payment_intent', 'payment_intent'],
    ['movements', 'data.source.balance_transaction', 'balance_transaction'],
  ])('of %s: %s', async (what, path, kind) => {
    expect(at(await read(what, path), path)).toMatchObject({ object: kind })
  })

  test('the answer of a call that changes something', async () => {
    const expand = ['payment_intent', 'charge']
    const made = await provider.stripe.paymentIntents.create(payment({ expand: ['customer'] }))
    const answer = await provider.stripe.refunds.create({ payment_intent: made.id, expand })

    expect(made.customer).toBeNull()
    expect(answer).toMatchObject({ payment_intent: { id: made.id }, charge: { refunded: true } })
  })
})

describe('refuses', () => {
  test.each([
    ['an intent', 'metadata', '(metadata).'],
    ['an intent', 'latest_chrage', '(latest_chrage).'],
    ['an intent', 'latest_charge.status', '(latest_charge.status).'],
    ['a payment method', 'livemode', '(livemode).'],
    ['movements', 'data.payout', '(data.payout).'],
    [
      'intents',
      'latest_charge',
      "(latest_charge). You may want to try expanding 'data.latest_charge' instead.",
    ],
    ['warnings', 'bogus', "(bogus). You may want to try expanding 'data.bogus' instead."],
  ])('of %s: %s', async (what, path, words) => {
    await expect(read(what, path)).rejects.toMatchObject({
      statusCode: 400,
      type: 'StripeInvalidRequestError',
      message: `This property cannot be expanded ${words}`,
    })
  })

  test.each([
    ['an intent', 'latest_charge.payment_intent.latest_charge.payment_intent.customer'],
    ['intents', 'data.latest_charge.payment_intent.latest_charge.customer'],
  ])('more than four levels: of %s', async (what, path) => {
    await expect(read(what, path)).rejects.toMatchObject({
      statusCode: 400,
      code: 'property_expansion_max_depth',
      message: `You cannot expand more than 4 levels of a property. Property: ${path}`,
    })
  })

  test('before anything is executed', async () => {
    const before = await provider.executed()

    const payments = provider.stripe.paymentIntents.create(payment({ expand: ['bogus'] }))

    await expect(payments).rejects.toMatchObject({ statusCode: 400 })
    expect(await provider.executed()).toEqual(before)
  })
})
