// Tests the conversion of amounts: exact for every currency and amount, in both directions.
import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { readAmount, showAmount } from '../../../src/provider/braintree/amounts.ts'

test.each([
  [1, 'eur', '0.01'],
  [50, 'usd', '0.50'],
  [1999, 'eur', '19.99'],
  [99_999_999, 'eur', '999999.99'],
  [1999, 'jpy', '1999'],
  [5, 'kwd', '0.005'],
  [1999, 'kwd', '1.999'],
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
  const currencies = fc.constantFrom('eur', 'usd', 'jpy', 'kwd', 'isk', 'huf')
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 99_999_999 }), currencies, (amountMinor, currency) => {
      expect(readAmount(showAmount(amountMinor, currency), currency)).toBe(amountMinor)
    }),
  )
})
