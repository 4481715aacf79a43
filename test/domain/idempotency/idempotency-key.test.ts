import { describe, expect, test } from '@jest/globals'
import { parseIdempotencyKey } from '../../../src/domain/idempotency/idempotency-key.ts'
import { problemOf } from '../../support/problem-of.ts'

const UUID = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const ALL_VISIBLE = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).join('')

describe('parseIdempotencyKey', () => {
  test.each([
    ['a bare UUID', UUID, UUID],
    ['the key of the Stripe SDK', `stripe-node-retry-${UUID}`, `stripe-node-retry-${UUID}`],
    ['a bare key with every visible character', `k${ALL_VISIBLE}`, `k${ALL_VISIBLE}`],
    ['a bare key with a quote inside', 'a"b"', 'a"b"'],
    ['a bare key with a comma', 'a,b', 'a,b'],
    ['a bare key with a semicolon', 'a;v=1', 'a;v=1'],
    ['a bare key of one character', '0', '0'],
    ['a bare key of 255 characters', 'k'.repeat(255), 'k'.repeat(255)],
    ['a bare key that looks like a number', '00042', '00042'],
    ['a bare key with spaces around it', ' \tkey\t ', 'key'],
    ['a quoted string', `"${UUID}"`, UUID],
    ['a quoted string of spaces', '"   "', '   '],
    ['a quoted string with inner and outer spaces', '" order 1 "', ' order 1 '],
    ['a quoted string with escapes', String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    ['a quoted string with a comma', '"a, b"', 'a, b'],
    ['255 characters after unquoting', `"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
    ['a quoted string with parameters', '"key"; v=1;w', 'key'],
  ])('reads %s', (_, value, key) => {
    expect(parseIdempotencyKey([value])).toBe(key)
  })

  test('reads the same key from the bare and the quoted form', () => {
    expect(parseIdempotencyKey([`"${UUID}"`])).toBe(parseIdempotencyKey([UUID]))
  })

  test.each([
    ['no header line', [], 'idempotency-key-missing'],
    ['two lines', ['a', 'b'], 'idempotency-key-repeated'],
    ['the same line twice', ['a', 'a'], 'idempotency-key-repeated'],
    ['two bare keys joined to one line', ['a, b'], 'idempotency-key-repeated'],
    ['two quoted keys joined to one line', ['"a", "b"'], 'idempotency-key-repeated'],
    ['two quoted keys joined without a space', ['"a","b"'], 'idempotency-key-repeated'],
    ['an empty value', [''], 'idempotency-key-empty'],
    ['spaces only', [' \t '], 'idempotency-key-empty'],
    ['an empty string', ['""'], 'idempotency-key-empty'],
    ['256 bare characters', ['k'.repeat(256)], 'idempotency-key-too-long'],
    ['256 quoted characters', [`"${'k'.repeat(256)}"`], 'idempotency-key-too-long'],
    ['a bare key with a space', ['a b'], 'idempotency-key-malformed'],
    ['a bare key with a tab', ['a\tb'], 'idempotency-key-malformed'],
    ['a lone quote', ['"'], 'idempotency-key-malformed'],
    ['a string without its end', ['"abc'], 'idempotency-key-malformed'],
    ['text behind the string', ['"abc"def'], 'idempotency-key-malformed'],
    [
      'an escape other than of quote and backslash',
      [String.raw`"a\n"`],
      'idempotency-key-malformed',
    ],
    ['a malformed parameter', ['"abc";V=1'], 'idempotency-key-malformed'],
    ['a tab in a string', ['"a\tb"'], 'idempotency-key-malformed'],
    ['a control character', ['a\u0001b'], 'idempotency-key-malformed'],
    ['DEL', ['a\u007F'], 'idempotency-key-malformed'],
    ['Latin-1', ['caf\u00E9'], 'idempotency-key-malformed'],
    ['Latin-1 in a string', ['"caf\u00E9"'], 'idempotency-key-malformed'],
    ['a no-break space before the key', ['\u00A0key'], 'idempotency-key-malformed'],
  ])('refuses %s', (_, values, type) => {
    expect(problemOf(() => parseIdempotencyKey(values)).type).toBe(type)
  })

  test('does not repeat a refused key', () => {
    const problem = problemOf(() => parseIdempotencyKey(['secret key']))

    expect(`${problem.message}${String(problem.cause)}`).not.toContain('secret')
  })
})
