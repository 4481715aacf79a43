import { describe, expect, test } from '@jest/globals'
import {
  refuseFraction,
  refuseLargeCharge,
  refuseSmallCharge,
} from '../../../dev/stripe-stand-in/payment-intents/charge-amounts.ts'
import { StripeError } from '../../../dev/stripe-stand-in/requests/stripe-errors.ts'
import {
  findChargeProblem,
  findPartProblem,
  isCurrency,
} from '../../../src/domain/payments/currency.ts'
import { stripeCapabilities } from '../../../src/provider/stripe/adapter.ts'

const { amounts: rules } = stripeCapabilities

describe('findChargeProblem', () => {
  test.each([
    ['usd', 50],
    ['gbp', 30],
    ['jpy', 50],
    ['huf', 17_500],
    ['mxn', 1_000],
  ])('refuses less than the minimum in %s', (currency, minimum) => {
    const detail = `Too small: expected >=${minimum} in ${currency}`

    expect(findChargeProblem(rules, minimum, currency)).toBeUndefined()
    expect(findChargeProblem(rules, minimum - 1, currency)).toMatchObject({
      type: 'amount-too-small',
      detail: `/amount: ${detail}`,
      errors: [{ pointer: '/amount', detail }],
    })
  })

  test.each([
    ['isk', 100, 550],
    ['ugx', 100, 1],
    ['kwd', 10, 5_124],
    ['bhd', 10, 5],
  ])('refuses a fraction that does not exist in %s', (currency, step, amount) => {
    const detail = `Invalid input: expected a multiple of ${step} in ${currency}`

    expect(findChargeProblem(rules, step, currency)).toBeUndefined()
    expect(findChargeProblem(rules, amount, currency)).toMatchObject({
      type: 'invalid-amount',
      errors: [{ pointer: '/amount', detail }],
    })
  })

  test.each([
    ['a currency without a documented minimum', 'sar', 1],
    ['forints, which are whole in payouts only', 'huf', 17_501],
    ['New Taiwan dollars, which are whole in payouts only', 'twd', 101],
  ])('accepts %s', (_, currency, amount) => {
    expect(findChargeProblem(rules, amount, currency)).toBeUndefined()
  })
})

describe('findPartProblem', () => {
  test('knows no minimum of a partial capture or refund', () => {
    expect(findPartProblem(rules, 1, 'usd')).toBeUndefined()
  })

  test('refuses a fraction that does not exist in the currency', () => {
    expect(findPartProblem(rules, 550, 'isk')).toMatchObject({ type: 'invalid-amount' })
    expect(findPartProblem(rules, 500, 'isk')).toBeUndefined()
  })

  test('never refuses all that is left', () => {
    expect(findPartProblem(rules, undefined, 'isk')).toBeUndefined()
  })
})

test('only accepted currencies have rules', () => {
  const currencies = [...rules.chargeMinimaMinor.keys(), ...rules.steps.keys()]

  expect(currencies.filter((currency) => !isCurrency(currency))).toEqual([])
})

// The stand-in has tables of its own, written as in Stripe's documentation.
test('the stand-in refuses the same amounts in every currency', () => {
  const amounts = [1, 5, 10, 29, 30, 49, 50, 99, 100, 101, 110, 199, 200, 249, 250, 299, 300, 399]
  const larger = [400, 999, 1_000, 1_010, 1_100, 1_499, 1_500, 17_499, 17_500, 17_501, 99_999_999]
  const largest = [8, 9, 10, 11, 12, 13].flatMap((digits) => [10 ** digits - 10, 10 ** digits])
  const isRefused = (amount: number, currency: string) => {
    try {
      refuseSmallCharge(amount, currency)
      refuseLargeCharge(amount, currency)
      refuseFraction(amount, currency)
      return false
    } catch (error) {
      expect(error).toBeInstanceOf(StripeError)
      return true
    }
  }

  const differences = Intl.supportedValuesOf('currency')
    .map((code) => code.toLowerCase())
    .flatMap((currency) =>
      [...amounts, ...larger, ...largest].map((amount) => ({ amount, currency })),
    )
    .filter(
      ({ amount, currency }) =>
        isRefused(amount, currency) !== (findChargeProblem(rules, amount, currency) !== undefined),
    )

  expect(differences).toEqual([])
})
