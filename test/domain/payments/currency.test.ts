import { describe, expect, test } from '@jest/globals'
import { formatAmount } from '../../../cli/format.ts'
import { parseAmount } from '../../../console/money.js'
import { stripeDecimals } from '../../../dev/stripe-stand-in/currencies.ts'
import { currencies, decimalsOf, isCurrency } from '../../../src/domain/payments/currency.ts'

describe('isCurrency', () => {
  test.each(['usd', 'eur', 'gbp', 'jpy', 'kwd', 'chf', 'isk', 'xaf', 'xcg', 'zwg'])(
    'takes %s',
    (code) => {
      expect(isCurrency(code)).toBe(true)
    },
  )

  test.each([
    ['upper case', 'USD'],
    ['mixed case', 'Usd'],
    ['no text', ''],
    ['two letters', 'us'],
    ['four letters', 'usdt'],
    ['spaces around', ' usd'],
    ['several codes', 'usd eur'],
    ['a line break', 'usd\n'],
    ['a test code', 'xts'],
    ['no currency', 'xxx'],
    ['gold', 'xau'],
    ['a unit of account', 'xdr'],
    ['a fund code', 'usn'],
    ['a withdrawn currency', 'dem'],
    ['the lev, withdrawn in 2026', 'bgn'],
    ['a cryptocurrency', 'btc'],
    ['a property of every object', 'constructor'],
  ])('refuses %s', (_, code) => {
    expect(isCurrency(code)).toBe(false)
  })

  test('accepts every code that Node knows and that ISO has neither withdrawn nor reserved', () => {
    const notForPayments = ['ang', 'bgn', 'cuc', 'hrk', 'sll', 'svc', 'xdr', 'xsu', 'zwl']
    const refused = Intl.supportedValuesOf('currency')
      .map((code) => code.toLowerCase())
      .filter((code) => !isCurrency(code) && !notForPayments.includes(code))

    expect(refused).toEqual([])
  })
})

describe('decimalsOf', () => {
  test.each([
    ['usd', 2],
    ['jpy', 0],
    ['kwd', 3],
    ['isk', 2],
    ['ugx', 2],
    ['mga', 0],
    ['huf', 2],
    ['twd', 2],
    ['lak', 2],
  ])('is that of Stripe: %s has %d', (currency, count) => {
    expect(decimalsOf(currency)).toBe(count)
  })

  // These three have tables of their own: they are packages, browser code, or a stand-in.
  test('the terminal, the console and the stand-in of Stripe agree in every currency', () => {
    const decimalsIn = (text: string) => text.split(' ')[0]?.split('.')[1]?.length ?? 0

    for (const currency of currencies) {
      const shown = decimalsIn(formatAmount(1, currency))
      const unit = String(parseAmount('1', currency)).length - 1
      const stripe = stripeDecimals(currency) ?? decimalsOf(currency)
      expect({ currency, shown, unit, stripe }).toEqual({
        currency,
        shown: decimalsOf(currency),
        unit: decimalsOf(currency),
        stripe: decimalsOf(currency),
      })
    }
  })
})
