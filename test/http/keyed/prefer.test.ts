// Parsing of the Prefer header.
import { describe, expect, test } from '@jest/globals'
import { parsePrefer } from '../../../src/http/keyed/prefer.ts'
import { randomText, seededRandom } from '../../support/seeded-random.ts'

describe('parsePrefer', () => {
  test('returns no preference without a header', () => {
    expect(parsePrefer([])).toEqual({ respondAsync: false, waitSeconds: undefined })
  })

  test.each([
    ['one', ['wait=10'], 10],
    ['zero', ['wait=0'], 0],
    ['leading zeros', ['wait=007'], 7],
    ['a name in capitals', ['WAIT=10'], 10],
    ['spaces around everything', [' \twait\t= 10\t '], 10],
    ['quotes', ['wait="10"'], 10],
    ['parameters', ['wait=10; foo="a, b";bar'], 10],
    ['an empty parameter', ['wait=10;'], 10],
    ['others around it', ['foo, wait=10, bar=baz'], 10],
    ['a quoted list before it', ['foo="a, wait=5", wait=10'], 10],
    ['an escaped quote before it', [String.raw`foo="\", wait=5", wait=10`], 10],
    ['empty elements', [',, ,wait=10,'], 10],
    ['garbage before it', ['@@@, =5, wait=10'], 10],
    ['a separate header line', ['respond-async', 'wait=10'], 10],
    ['a broken line before it', ['foo="', 'wait=10'], 10],
    ['repetition', ['wait=10, wait=20', 'wait=30'], 10],
    ['more seconds than can be counted', [`wait=${'9'.repeat(400)}`], 2 ** 31],
  ])('reads wait with %s', (_, values, seconds) => {
    expect(parsePrefer(values).waitSeconds).toBe(seconds)
  })

  test.each([
    ['no value', 'wait'],
    ['an empty value', 'wait='],
    ['an empty string', 'wait=""'],
    ['a sign', 'wait=-1'],
    ['a plus', 'wait=+1'],
    ['a fraction', 'wait=1.5'],
    ['an exponent', 'wait=1e3'],
    ['hexadecimal', 'wait=0x10'],
    ['a word', 'wait=long'],
    ['spaces inside quotes', 'wait=" 10 "'],
    ['two values', 'wait=1 2'],
    ['an unclosed string', 'wait="10'],
    ['another name', 'waiting=10'],
    ['an occurrence inside a string', 'foo="wait=10"'],
    ['an occurrence inside a parameter', 'foo; wait=10'],
    ['an occurrence after an open quote', 'foo=", wait=10'],
    ['an invalid first occurrence', 'wait=soon, wait=10'],
  ])('ignores wait with %s', (_, value) => {
    expect(parsePrefer([value]).waitSeconds).toBeUndefined()
  })

  test.each([
    ['respond-async', true],
    ['Respond-Async', true],
    ['respond-async=""', true],
    ['respond-async; foo=bar', true],
    ['wait=10, respond-async', true],
    ['respond-async=false', false],
    ['respond-asynchronously', false],
    ['foo="respond-async"', false],
    ['respond async', false],
  ])('reads %s as respond-async: %s', (value, expected) => {
    expect(parsePrefer([value]).respondAsync).toBe(expected)
  })

  test('reads random text without failing', () => {
    const random = seededRandom(4)
    const waits = Array.from({ length: 20_000 }, () => {
      const garbage = randomText(random, random(24), 'wait=10;, "\\\t@')
      return parsePrefer([garbage]).waitSeconds
    })

    expect(waits.filter((wait) => wait !== undefined && !Number.isInteger(wait))).toEqual([])
  })

  test.each([
    ['spaces', `a${' '.repeat(200_000)}x`],
    ['quotes', '"'.repeat(200_000)],
    ['backslashes', `a="${'\\'.repeat(200_000)}`],
    ['commas', ','.repeat(200_000)],
  ])('reads 200 KB of %s in linear time', (_, value) => {
    const startedAt = performance.now()
    parsePrefer([value])

    expect(performance.now() - startedAt).toBeLessThan(1000)
  })
})
