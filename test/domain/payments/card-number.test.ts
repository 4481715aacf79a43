import { describe, expect, test } from '@jest/globals'
import creditCardType from 'credit-card-type'
import {
  type CardNumberScope,
  containsCardNumber,
  findCardNumber,
} from '../../../src/domain/payments/card-number.ts'
import { showPaymentId } from '../../../src/domain/payments/payment.ts'
import { randomText, seededRandom } from '../../support/seeded-random.ts'

const VISA = '4242424242424242'

/** The digits, with the last one replaced by the right Luhn check digit. */
function withCheckDigit(digits: string): string {
  const sum = digits
    .slice(0, -1)
    .split('')
    .toReversed()
    .reduce((total, digit, index) => {
      const weighted = Number(digit) * (index % 2 === 0 ? 2 : 1)
      return total + Math.floor(weighted / 10) + (weighted % 10)
    }, 0)
  return `${digits.slice(0, -1)}${(10 - (sum % 10)) % 10}`
}

describe('containsCardNumber', () => {
  test.each([
    ['Visa', VISA],
    ['Mastercard', '5555555555554444'],
    ['Mastercard of the 2 series', '2223003122003222'],
    ['American Express', '378282246310005'],
    ['Discover', '6011111111111117'],
    ['Diners Club with 14 digits', '36227206271667'],
    ['JCB', '3566002020360505'],
    ['UnionPay', '6200000000000005'],
    ['UnionPay with 19 digits', '6205500000000000004'],
    ['Maestro', '6759649826438453'],
  ])('finds a number of %s', (_, number) => {
    expect(containsCardNumber(number)).toBe(true)
  })

  test.each(Object.values(creditCardType.types))(
    'finds numbers of every range of %s',
    (network) => {
      const random = seededRandom(1)
      const { patterns, lengths } = creditCardType.getTypeInfo(network)
      const prefixes = patterns.flat().filter((prefix) => prefix !== 1800)
      const numbers = prefixes.flatMap((prefix) =>
        lengths.map((length) =>
          withCheckDigit(`${prefix}${randomText(random, length, '0123456789')}`.slice(0, length)),
        ),
      )

      expect(numbers.length).toBeGreaterThan(0)
      expect(numbers.filter((number) => !containsCardNumber(number))).toEqual([])
    },
  )

  test.each([
    ['spaces', '4242 4242 4242 4242'],
    ['dashes', '4242-4242-4242-4242'],
    ['both, several at a time', '4242 - 4242 -- 4242  4242'],
    ['tabs and line breaks', '4242\t4242\n4242\r\n4242'],
    ['no-break and thin spaces', '4242\u00A04242\u20094242\u202F4242'],
    ['en dashes and minus signs', '4242\u20134242\u22124242\u20144242'],
    ['zero-width characters', '4242\u200B4242\u00AD4242\uFEFF4242'],
    ['a space between all digits', VISA.split('').join(' ')],
    ['full-width digits', '\uFF14\uFF12'.repeat(8)],
    ['mathematical digits', '\u{1D7D2}\u{1D7D0}'.repeat(8)],
    [
      'keycaps',
      VISA.split('')
        .map((digit) => `${digit}\uFE0F\u20E3`)
        .join(''),
    ],
    [
      'struck-through digits',
      VISA.split('')
        .map((digit) => `${digit}\u0336`)
        .join(''),
    ],
    ['full stops', '4242.4242.4242.4242'],
    ['slashes and brackets', '[4242]/(4242)/[4242]/(4242)'],
    ['underscores', '4242_4242_4242_4242'],
    ['commas, colons and quotes', `4242, "4242": '4242'; 4242`],
    ['an emoji between groups', '4242\u{1F4B3}4242\u{1F4B3}4242\u{1F4B3}4242'],
    ['a control character', '4242\u00014242\u00014242\u00014242'],
    ['Arabic-Indic digits', '\u0664\u0662'.repeat(8)],
    ['a word before it', 'order4242424242424242'],
    ['a word behind it', '4242424242424242abc'],
    ['punctuation around it', 'card:(4242-4242-4242-4242).'],
    ['another number before it', '12 4242 4242 4242 4242'],
    ['another number behind it', '4242 4242 4242 4242 12/29 123'],
    ['a hex letter before it', 'a4242424242424242'],
    ['hex letters behind it, as many as in an object id', `${VISA}abcdefab`],
    ['a UUID before it', `8e03978e-40d5-43e8-bc93-6894a57f9324 ${VISA}`],
  ])('finds one with %s', (_, text) => {
    expect(containsCardNumber(text)).toBe(true)
  })

  test.each([
    ['no text', ''],
    ['a wrong check digit', '4242424242424241'],
    ['no prefix of a network', withCheckDigit('9999999999999999')],
    ['a length that the network does not have', withCheckDigit('42424242424242420')],
    ['11 digits', withCheckDigit('67677000000')],
    ['20 digits', withCheckDigit('42424242424242424242')],
    ['a number inside a longer run of digits', `9${VISA}`],
    ['a group cut off in the middle', '42424242 4242424299'],
    ['a letter between the groups', '4242 4242 x 4242 4242'],
    ['a date and a time', '2026-11-21 07:51:40.123456'],
    ['a payment method', 'pm_1MqLiJLkdIwHu7ixUEgbFdYF'],
    ['a UUID whose digits are a card number', '42424242-4242-4242-aaaa-aaaaaaaaaaaa'],
    ['an MD5 with a card number in it', `a1${VISA}c3d5e7f9a1b2c3`],
    [
      'a microsecond of January 2027 with the old prefix of JCB',
      withCheckDigit('1800123456789010'),
    ],
  ])('finds none in %s', (_, text) => {
    expect(containsCardNumber(text)).toBe(false)
  })

  const HEX = '0123456789abcdef'
  const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const random = seededRandom(2)
  function uuid(): string {
    return randomText(random, 32, HEX).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }

  // Other identifiers: ../../docs/card-number-rates.test.ts.
  test.each([
    ['prefixed UUIDs', () => `stripe-node-retry-${uuid()}`],
    ['ULIDs', () => `01${randomText(random, 24, CROCKFORD)}`],
    ['payment ids', () => showPaymentId(uuid())],
    ['24 hex digits', () => randomText(random, 24, HEX)],
  ])('finds none in 2,000 %s', (_, make) => {
    const refused = Array.from({ length: 2_000 }, make).filter(containsCardNumber)

    expect(refused).toEqual([])
  })
})

describe('findCardNumber', () => {
  test.each([
    ['a string', { description: `card ${VISA}` }, '/description'],
    ['a number', { amount: Number(VISA) }, '/amount'],
    ['an element', { a: [1, { b: ['x', VISA] }] }, '/a/1/b/1'],
    ['metadata', { metadata: { note: '4242-4242-4242-4242' } }, '/metadata/note'],
    ['a member name', { metadata: { [VISA]: 'x' } }, '/metadata'],
    ['a member name at the top', { [VISA]: 'x' }, ''],
    ['a member below a name that is not shown', { metadata: { 'a b': VISA } }, '/metadata'],
  ])('returns the place of one in %s', (_, body, pointer) => {
    expect(findCardNumber(body, 'everywhere')).toBe(pointer)
  })

  test('searches a member named __proto__', () => {
    const body = JSON.parse(`{"__proto__":{"a":"${VISA}"}}`) as Record<string, unknown>

    expect(findCardNumber(body, 'everywhere')).toBe('/__proto__/a')
  })

  test('does not join digits from different places', () => {
    const body = { a: ['4242', '4242', '4242', '4242'], b: 4242_4242, c: [4242_4242] }

    expect(findCardNumber(body, 'everywhere')).toBeUndefined()
  })

  test.each<[CardNumberScope, Record<string, unknown>, string | undefined]>([
    ['payment_fields', { payment_method: VISA }, '/payment_method'],
    ['payment_fields', { description: VISA }, '/description'],
    ['payment_fields', { description: { text: [VISA] } }, '/description/text/0'],
    ['payment_fields', { metadata: { order: VISA }, customer: VISA, [VISA]: 1 }, undefined],
    ['everywhere', { customer: VISA }, '/customer'],
    ['everywhere', { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }, undefined],
  ])('in the scope %s, finds in %j: %s', (scope, body, pointer) => {
    expect(findCardNumber(body, scope)).toBe(pointer)
  })
})
