// Which request bodies are accepted as strict JSON.
import { describe, expect, test } from '@jest/globals'
import { parseJsonBody } from '../../../src/http/requests/read-body.ts'
import { problemOf } from '../../support/problem-of.ts'
import { randomText, seededRandom } from '../../support/seeded-random.ts'

function parseText(text: string): Record<string, unknown> {
  return parseJsonBody(Buffer.from(text))
}

/** An object with this many levels, including the top-level object. */
function nested(levels: number, open = '[', close = ']'): string {
  return `{"a":${open.repeat(levels - 1)}${close.repeat(levels - 1)}}`
}

describe('parseJsonBody', () => {
  test.each([
    ['an empty object', '{}', {}],
    ['white space around', ' \t\r\n{ "a" : 1 }\n', { a: 1 }],
    [
      'every kind of value',
      '{"a":[null,true,false,-3,"x",{}]}',
      { a: [null, true, false, -3, 'x', {}] },
    ],
    ['a fraction', '{"a":10.5,"b":1e-1}', { a: 10.5, b: 0.1 }],
    ['escapes', String.raw`{"a":"\u00e9\ud83d\ude00\n\/"}`, { a: '\u00E9\u{1F600}\n/' }],
    [
      'one name in different objects',
      '{"a":{"a":1},"b":[{"a":1},{"a":1}]}',
      { a: { a: 1 }, b: [{ a: 1 }, { a: 1 }] },
    ],
    ['a value equal to a name', '{"a":"a","b":"a"}', { a: 'a', b: 'a' }],
    ['an element equal to a name', '{"a":["a","b"],"b":1}', { a: ['a', 'b'], b: 1 }],
    ['braces and colons in strings', '{"a":"}:{","b":"[[["}', { a: '}:{', b: '[[[' }],
    ['line separators in strings', '{"a":"\u2028\u2029"}', { a: '\u2028\u2029' }],
  ])('parses %s', (_, text, body) => {
    expect(parseText(text)).toEqual(body)
  })

  test.each(['__proto__', 'constructor', 'toString'])('keeps %s as an own member', (name) => {
    const body = parseText(`{"${name}":{"status":"succeeded"}}`)

    expect(Object.keys(body)).toEqual([name])
    expect(Object.getPrototypeOf(body)).toBe(Object.getPrototypeOf({}))
    expect(body['status']).toBeUndefined()
  })

  test.each(['10.00', '1e1', '1E+1', '1.0000000000000000001', '1e2000', '-0.0'])(
    'does not accept %s as an integer',
    (number) => {
      const { amount } = parseText(`{"amount":${number}}`)

      expect(Number.isInteger(amount)).toBe(false)
    },
  )

  test('parses 20 levels', () => {
    expect(parseText(nested(20))).toHaveProperty('a')
  })

  test('counts levels, not brackets', () => {
    expect(parseText(`{"a":[${'[],'.repeat(1000)}[]]}`)['a']).toHaveLength(1001)
  })

  test.each(['{"card":4242424242424242,}', '{"card":4242424242424242,"card":1}'])(
    'does not quote the body when it refuses %s',
    (text) => {
      const problem = problemOf(() => parseText(text))

      expect(problem.message).not.toMatch(/4242|card/)
      expect(problem.cause).toBeUndefined()
    },
  )

  test('accepts nothing that JSON.parse refuses, and reads the rest the same', () => {
    const random = seededRandom(3)
    const texts = Array.from(
      { length: 30_000 },
      () => `{"a":${randomText(random, 1 + random(8), '{}[]:,"ab1\\ /*-')}}`,
    )
    const accepted = texts.filter((text) => !isRefused(text))

    expect(accepted.length).toBeGreaterThan(100)
    expect(accepted.map(parseText)).toEqual(accepted.map((text) => JSON.parse(text) as unknown))
  })
})

function isRefused(text: string): boolean {
  try {
    parseText(text)
    return false
  } catch {
    return true
  }
}
