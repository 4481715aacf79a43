// Tests to which provider a payment goes, and where it may move.
import { describe, expect, test } from '@jest/globals'
import { routePayment } from '../../../src/domain/payments/routing.ts'

const both = [{ provider: 'stripe' }, { provider: 'other' }]
const byCurrency = [{ provider: 'stripe', currencies: ['usd'] }, { provider: 'other' }]
const methods = { stripe: 'pm_1', other: 'nonce' }

describe('with one payment method', () => {
  test('it goes to the first provider, and never moves', () => {
    expect(routePayment(both, 'eur', 'pm_1')).toEqual({ provider: 'stripe', paymentMethod: 'pm_1' })
  })

  test('it goes to the first provider that takes the currency', () => {
    const routed = { provider: 'other', paymentMethod: 'pm_1' }
    expect(routePayment(byCurrency, 'eur', 'pm_1')).toEqual(routed)
  })
})

describe('with payment methods by provider', () => {
  test('it goes to the first provider, and may move to the second', () => {
    expect(routePayment(both, 'eur', methods)).toEqual({
      provider: 'stripe',
      paymentMethod: 'pm_1',
      fallback: { provider: 'other', payment_method: 'nonce' },
    })
  })

  test.each([
    ['the currency', byCurrency, 'eur', methods],
    ['the payment methods', both, 'eur', { other: 'nonce' }],
  ])('it goes to the only provider that fits: %s', (_title, routes, currency, given) => {
    const routed = routePayment(routes, currency, given)

    expect(routed).toMatchObject({ provider: 'other', paymentMethod: 'nonce' })
    expect(routed?.fallback).toBeUndefined()
  })
})

test.each([
  ['no provider takes the currency', [{ provider: 'stripe', currencies: ['usd'] }], 'pm_1'],
  [
    'there is no payment method of a provider of the tenant',
    [{ provider: 'stripe' }],
    { other: 'n' },
  ],
])('it goes nowhere: %s', (_title, routes, given) => {
  expect(routePayment(routes, 'eur', given)).toBeUndefined()
})
