import { describe, expect, test } from '@jest/globals'
import { isCurrency } from '../../../src/domain/payments/currency.ts'

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
