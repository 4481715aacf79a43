import { randomUUIDv7 } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { parsePaymentId, showPaymentId } from '../../src/domain/payments/payment.ts'
import { parseRefundId, showRefundId } from '../../src/domain/payments/refund.ts'
import { parseId, showId, type IdPrefix } from '../../src/domain/resource-id.ts'

const prefixes: IdPrefix[] = ['pay', 're', 'evt', 'ltx', 'we', 'wd']

// The example of the specification: https://github.com/jetify-com/typeid/tree/main/spec
const UUID = '01893726-efee-7f02-8fbf-9f2b7bc2f910'
const SUFFIX = '01h4vjdvzefw18zfwz5dxw5y8g'

describe('an id', () => {
  test('is shown as the specification requires', () => {
    expect(showId('pay', UUID)).toBe(`pay_${SUFFIX}`)
  })

  test.each(prefixes)('with the prefix %s is parsed back to its UUID', (prefix) => {
    const id = randomUUIDv7()

    expect(showId(prefix, id)).toMatch(new RegExp(`^${prefix}_[0-9a-z]{26}$`))
    expect(parseId(prefix, showId(prefix, id))).toBe(id)
  })

  test('of a later resource sorts after the id of an earlier one', () => {
    const shown = ['01893726-efee-7f02-8fbf-9f2b7bc2f910', '01893726-efef-7000-8000-000000000000']

    expect(shown.map(showPaymentId).toSorted()).toEqual(shown.map(showPaymentId))
  })

  test.each(prefixes)('with another prefix is not parsed as one with the prefix %s', (prefix) => {
    const others = prefixes.filter((other) => other !== prefix)

    const read = others.map((other) => parseId(prefix, showId(other, UUID)))
    expect(read).toEqual(others.map(() => undefined))
  })

  test.each([
    ['nothing', ''],
    ['a prefix alone', 'pay'],
    ['a prefix and nothing behind it', 'pay_'],
    ['no prefix', SUFFIX],
    ['an empty prefix', `_${SUFFIX}`],
    ['a UUID', UUID],
    ['a UUID with a prefix', `pay_${UUID}`],
    ['a character too few', `pay_${SUFFIX.slice(1)}`],
    ['a character too many', `pay_${SUFFIX}0`],
    ['a character that is none of the alphabet', `pay_${SUFFIX.slice(0, -1)}u`],
    ['capitals', `pay_${SUFFIX.toUpperCase()}`],
    ['a prefix in capitals', `PAY_${SUFFIX}`],
    ['more than 128 bits', 'pay_8zzzzzzzzzzzzzzzzzzzzzzzzz'],
    ['spaces around', ` pay_${SUFFIX} `],
    ['a line break', `pay_${SUFFIX}\n`],
    ['a NUL', `pay_${SUFFIX}\0`],
    ['SQL', "pay_' or 1=1 --"],
  ])('is not parsed from %s', (_, text) => {
    expect(parseId('pay', text)).toBeUndefined()
  })
})

test('does not confuse the ids of payments and refunds', () => {
  expect(parsePaymentId(showPaymentId(UUID))).toBe(UUID)
  expect(parseRefundId(showRefundId(UUID))).toBe(UUID)
  expect(parsePaymentId(showRefundId(UUID))).toBeUndefined()
  expect(parseRefundId(showPaymentId(UUID))).toBeUndefined()
})
