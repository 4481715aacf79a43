// Tests the conversion of amounts: exact for every currency and amount, in both directions.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { currencies } from '../../../src/domain/payments/currency.ts'
import { readAmount, showAmount } from '../amounts.ts'

test.each([
  [1, 'eur', '0.01'],
  [50, 'usd', '0.50'],
  [1999, 'eur', '19.99'],
  [99_999_999, 'eur', '999999.99'],
  [1999, 'jpy', '1999'],
  [50_000, 'isk', '500'],
  [100, 'ugx', '1'],
  [150_000, 'lak', '1500'],
  [1999, 'huf', '19.99'],
])('%d in %s is %s', (amountMinor, currency, text) => {
  expect(showAmount(amountMinor, currency)).toBe(text)
  expect(readAmount(text, currency)).toBe(amountMinor)
})

test.each([
  ['100', 'usd', 10_000],
  ['250.0', 'usd', 25_000],
  ['10.000', 'usd', 1_000],
  ['10.00', 'jpy', 10],
])('%s in %s is %d, as Braintree also writes it', (text, currency, amountMinor) => {
  expect(readAmount(text, currency)).toBe(amountMinor)
})

test.each([
  ['a fraction of what has no decimals', 50_050, 'isk'],
  ['a currency that Braintree does not take', 5_000, 'mga'],
  ['a currency with three decimals', 1999, 'kwd'],
])('has no text for %s', (_case, amountMinor, currency) => {
  expect(showAmount(amountMinor, currency)).toBeUndefined()
})

test.each([
  ['19.991', 'eur'],
  ['10.50', 'jpy'],
  ['1.9995', 'kwd'],
  ['-1.00', 'eur'],
  ['1e3', 'eur'],
  ['1,00', 'eur'],
  ['.50', 'eur'],
  ['', 'eur'],
  [' 1.00', 'eur'],
  ['99999999999999.00', 'eur'],
  [19.99, 'eur'],
  [null, 'eur'],
])('%p in %s is no amount', (text, currency) => {
  expect(readAmount(text, currency)).toBeUndefined()
})

test('every amount is read as it was shown', () => {
  const charged = fc.constantFrom(...currencies)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 99_999_999 }), charged, (amountMinor, currency) => {
      const text = showAmount(amountMinor, currency)
      if (text !== undefined) expect(readAmount(text, currency)).toBe(amountMinor)
    }),
  )
})
