import { createHash } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { fingerprintRequest } from '../../../src/domain/idempotency/idempotency-key.ts'

const request = { method: 'POST', path: '/v1/payments', body: { amount: 1999, currency: 'usd' } }

function fingerprintOfJson(json: string): string {
  return fingerprintRequest({ ...request, body: JSON.parse(json) as unknown }).toString('hex')
}

describe('fingerprintRequest', () => {
  test('is the SHA-256 of the canonical JSON of method, path and body', () => {
    const canonical =
      '{"body":{"amount":1999,"currency":"usd"},"method":"POST","path":"/v1/payments"}'

    expect(fingerprintRequest(request)).toEqual(createHash('sha256').update(canonical).digest())
  })

  test.each([
    ['order of members', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['white space', '{"a":[1,2]}', ' {\n"a" : [1,\t2] } '],
    ['escapes', '{"a":"\u00E9/"}', String.raw`{"\u0061":"\u00e9\/"}`],
    ['notation of numbers', '{"a":100}', '{"a":1E2}'],
  ])('is independent of the %s', (_, one, other) => {
    expect(fingerprintOfJson(one)).toBe(fingerprintOfJson(other))
  })

  test.each([
    ['a value', '{"a":1}', '{"a":2}'],
    ['a type', '{"a":1}', '{"a":"1"}'],
    ['an order of elements', '{"a":[1,2]}', '{"a":[2,1]}'],
    ['null and absent', '{"a":null}', '{}'],
    ['case', '{"a":"x"}', '{"a":"X"}'],
    ['composed and decomposed letters', '{"a":"\u00E9"}', '{"a":"e\u0301"}'],
    ['a member named __proto__', '{"__proto__":1}', '{}'],
  ])('differs by %s', (_, one, other) => {
    expect(fingerprintOfJson(one)).not.toBe(fingerprintOfJson(other))
  })

  test.each([{ method: 'PUT' }, { path: '/v1/refunds' }])('differs by %j', (change) => {
    expect(fingerprintRequest({ ...request, ...change })).not.toEqual(fingerprintRequest(request))
  })

  test('ignores other members of the object', () => {
    const more = { ...request, headers: { host: 'example.org' } }

    expect(fingerprintRequest(more)).toEqual(fingerprintRequest(request))
  })
})
