// How a body is validated and how its errors are reported.
import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { validateBody } from '../../../src/http/requests/validate-body.ts'
import { problemOf } from '../../support/problem-of.ts'

const schema = z.strictObject({
  amount: z.int().min(1),
  currency: z.string().max(3),
  name: z.string().optional(),
  tags: z.record(z.string().max(3), z.string()).optional(),
  items: z.array(z.strictObject({ count: z.int() })).optional(),
})
const valid = { amount: 1, currency: 'usd' }

function problemWith(change: Record<string, unknown>) {
  return problemOf(() => validateBody(schema, { ...valid, ...change }))
}

describe('validateBody', () => {
  test('returns the output of the schema for a valid body', () => {
    const trimming = z.strictObject({ name: z.string().trim() })

    expect(validateBody(trimming, { name: ' x ' })).toEqual({ name: 'x' })
  })

  test.each([
    ['unknown-field', { surprise: 1, amount: 0, currency: 'long', name: 1 }],
    ['invalid-amount', { amount: 0, currency: 'long', name: 1 }],
    ['unknown-currency', { currency: 'long', name: 1 }],
    ['invalid-field', { name: 1 }],
    ['invalid-field', { amount: undefined, currency: undefined }],
    ['invalid-amount', { amount: null }],
    ['invalid-field', { currency: null }],
    ['unknown-field', { items: [{ count: 1, amount: 2 }] }],
    ['invalid-field', { items: [{ count: 'x' }] }],
  ])('names %s as the problem of %j', (type, change) => {
    expect(problemWith(change).type).toBe(type)
  })

  test('lists every error by its place, with those of the problem’s type first', () => {
    const problem = problemWith({
      amount: -5,
      name: 1,
      items: [{ count: 'x' }],
      tags: { long_one: 'x' },
    })

    expect(problem.errors).toEqual([
      { pointer: '/amount', detail: expect.any(String) },
      { pointer: '/name', detail: expect.any(String) },
      { pointer: '/tags/long_one', detail: expect.stringMatching(/^Name: /) },
      { pointer: '/items/0/count', detail: expect.any(String) },
    ])
    expect(problem.detail).toBe(`/amount: ${problem.errors?.[0]?.detail}`)
  })

  test('reports a missing field as required', () => {
    expect(problemWith({ amount: undefined }).errors).toEqual([
      { pointer: '/amount', detail: 'Required' },
    ])
  })

  test('explains what is wrong with a number with a fraction or an exponent', () => {
    expect(problemWith({ amount: Number.NaN }).errors?.[0]?.detail).toContain('without fraction')
  })

  test.each([
    ['an unknown name', { 'my secret': 1 }],
    ['a name with many digits', { n4242424242424242: 1 }],
    ['a value', { name: ['my secret'], currency: 'my secret 4242424242424242' }],
    ['a name in a record', { tags: { 'my secret': 'x' } }],
  ])('does not quote %s', (_, change) => {
    const problem = problemWith(change)

    expect(JSON.stringify([problem.message, problem.detail, problem.errors])).not.toMatch(
      /secret|4242/,
    )
  })
})
