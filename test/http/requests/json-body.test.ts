// Which request bodies are accepted as strict JSON.
import { describe, expect, test } from '@jest/globals'
import { parseJsonBody } from '../../../src/http/requests/json-body.ts'
import { problemOf } from '../../support/problem-of.ts'
import { randomText, seededRandom } from '../../support/seeded-random.ts'

const KIB_64 = 65_536

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

  test.each([
    ['no bytes', ''],
    ['spaces only', '  '],
    ['a string', '"a"'],
    ['a number', '1'],
    ['null', 'null'],
    ['an array', '[{}]'],
    ['a form', 'amount=1999&currency=usd'],
    ['two objects', '{}{}'],
    ['text after the object', '{} x'],
    ['an unclosed object', '{"a":1'],
    ['an unclosed string', '{"a'],
    ['an unquoted name', '{a:1}'],
    ['single quotes', "{'a':1}"],
    ['a trailing comma', '{"a":1,}'],
    ['a line comment', '{} // x'],
    ['a block comment', '{/* x */}'],
    ['NaN', '{"a":NaN}'],
    ['a leading zero', '{"a":01}'],
    ['a hexadecimal number', '{"a":0x1}'],
    ['a wrong escape', String.raw`{"a":"\x41"}`],
    ['a line break in a string', '{"a":"\n"}'],
    ['a byte order mark', '\uFEFF{}'],
    ['a no-break space', '\u00A0{}'],
    ['NUL after the object', '{}\0'],
  ])('refuses %s as malformed JSON', (_, text) => {
    expect(problemOf(() => parseText(text)).type).toBe('malformed-json')
  })

  test.each([
    ['a stray byte', [0xff]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['a truncated sequence', [0xe2, 0x82]],
  ])('refuses %s as malformed UTF-8', (_, bytes) => {
    const body = Buffer.from([...Buffer.from('{"a":"'), ...bytes, ...Buffer.from('"}')])

    expect(problemOf(() => parseJsonBody(body)).type).toBe('malformed-json')
  })

  test.each([
    ['at the top', '{"a":1,"a":1}'],
    ['with another in between', '{"a":1,"b":2,"a":3}'],
    ['in a nested object', '{"x":[{"y":{"a":1,"a":2}}]}'],
    ['after a nested object', '{"a":{"b":1},"a":2}'],
    ['once escaped', String.raw`{"a":1,"\u0061":2}`],
    ['with white space', '{"a" :1 ,\n"a"\t:2}'],
    ['that is empty', '{"":1,"":2}'],
    ['that is __proto__', '{"__proto__":1,"__proto__":2}'],
  ])('refuses a repeated name %s', (_, text) => {
    expect(problemOf(() => parseText(text)).type).toBe('duplicate-member')
  })

  test('parses 20 levels', () => {
    expect(parseText(nested(20))).toHaveProperty('a')
  })

  test.each([
    ['21 levels of arrays', nested(21)],
    ['21 levels of objects', `${'{"a":'.repeat(21)}1${'}'.repeat(21)}`],
    ['64 KiB of closed arrays', nested(KIB_64 / 2 - 3)],
    ['64 KiB of opening brackets', '['.repeat(KIB_64)],
    ['64 KiB of opening braces', '{"a":'.repeat(KIB_64 / 5)],
  ])('refuses %s as nested too deeply', (_, text) => {
    expect(problemOf(() => parseText(text)).type).toBe('nesting-too-deep')
  })

  test('counts levels, not brackets', () => {
    expect(parseText(`{"a":[${'[],'.repeat(1000)}[]]}`)['a']).toHaveLength(1001)
  })

  test.each([
    ['NUL in a value', String.raw`{"a":"x\u0000"}`],
    ['NUL in a name', String.raw`{"a\u0000":1}`],
    ['NUL as a byte', '{"a":"\0"}'],
    ['a high surrogate alone', String.raw`{"a":"\ud800"}`],
    ['a low surrogate alone', String.raw`{"a":["\udc00"]}`],
    ['surrogates in the wrong order', String.raw`{"a":"\udc00\ud800"}`],
    ['a lone surrogate in a name', String.raw`{"\udfff":1}`],
  ])('refuses %s', (_, text) => {
    expect(problemOf(() => parseText(text)).type).toBe('forbidden-character')
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
