// Tests the format and the scopes of API keys.
import { randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import {
  allowsScope,
  API_KEY_BYTES,
  composeApiKey,
  grantableScopes,
  isApiKey,
  publicPrefix,
  scopes,
} from '../../../src/domain/tenants/api-key.ts'

const newKey = () => composeApiKey(randomBytes(API_KEY_BYTES))

describe('a key', () => {
  test('consists of a mark, 32 letters or digits, and a checksum of 6', () => {
    expect(newKey()).toMatch(/^sk_atomic_[0-9A-Za-z]{32}[0-9A-Za-z]{6}$/)
    expect(composeApiKey(Buffer.alloc(API_KEY_BYTES))).toBe(`sk_atomic_${'0'.repeat(32)}1saSK4`)
  })

  test('shows a prefix that leaves 128 bits secret', () => {
    const apiKey = newKey()
    const secretLetters = 32 - (publicPrefix(apiKey).length - 'sk_atomic_'.length)
    // The most likely letter occurs 5 times in 256.
    expect(secretLetters * Math.log2(256 / 5)).toBeGreaterThan(128)
  })

  test('requires the exact number of bytes', () => {
    expect(() => composeApiKey(randomBytes(API_KEY_BYTES - 1))).toThrow('32 bytes')
  })

  test('is refused with any one character mistyped, or two exchanged', () => {
    const apiKey = newKey()
    expect(isApiKey(apiKey)).toBe(true)
    for (let place = 'sk_atomic_'.length; place < apiKey.length; place += 1) {
      const other = apiKey[place] === 'a' ? 'b' : 'a'
      expect(isApiKey(apiKey.slice(0, place) + other + apiKey.slice(place + 1))).toBe(false)
    }
    const [one = '', two = ''] = ['xY', 'Yx'].map((pair) =>
      apiKey.slice(0, 20).concat(pair, apiKey.slice(22)),
    )
    expect([isApiKey(one), isApiKey(two)]).not.toEqual([true, true])
  })

  test.each([
    ['made by the command before', `sk_${'0a'.repeat(24)}`],
    ['of an older demo', `sk_demo_${'0a'.repeat(20)}`],
    ['chosen by hand', 'sk_chosen_key'],
    ['of the shortest length', 'sk_123456789'],
    ['of the longest length', `sk_${'k'.repeat(200)}`],
    ['with our mark, but of another length', `sk_atomic_${'0'.repeat(37)}`],
  ])('%s needs no checksum', (_, apiKey) => {
    expect(isApiKey(apiKey)).toBe(true)
  })

  test.each(['', 'sk_', 'sk_12345678', `sk_${'k'.repeat(201)}`, 'pk_123456789', 'sk_123456789\n'])(
    '%j is none',
    (text) => {
      expect(isApiKey(text)).toBe(false)
    },
  )
})

describe('a scope', () => {
  test.each(scopes)('%s is allowed only by itself and by *', (scope) => {
    const allowing = grantableScopes.filter((granted) => allowsScope([granted], scope))
    expect(allowing).toEqual(['*', scope])
  })

  test('is allowed neither by an empty list nor by a scope of a later version', () => {
    expect(allowsScope([], 'payments:read')).toBe(false)
    expect(allowsScope(['payments:*'], 'payments:read')).toBe(false)
  })
})
