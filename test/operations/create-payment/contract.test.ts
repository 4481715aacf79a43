import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import {
  paymentRequestOf,
  createPaymentBody,
} from '../../../src/operations/create-payment/endpoint.ts'
import { providerNames } from '../../../src/provider/adapters.ts'
import { problemOf } from '../../support/problem-of.ts'

const required = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }

function metadataOf(members: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: members }, (_, i) => [`key${i}`, 'value']))
}

describe('paymentRequestOf', () => {
  test('reads a body with every field', () => {
    const body = {
      ...required,
      capture_method: 'manual',
      customer: 'cus_123',
      description: 'Order 42, \u00E9\u{1F600}',
      reference: 'order-42',
      metadata: { order: '42', constructor: 'x', empty: '' },
      off_session: true,
      return_url: 'https://shop.example/42',
    }

    expect(paymentRequestOf(body)).toEqual({
      amountMinor: 1999,
      currency: 'usd',
      paymentMethods: 'pm_card_visa',
      captureMethod: 'manual',
      customer: 'cus_123',
      description: 'Order 42, \u00E9\u{1F600}',
      reference: 'order-42',
      metadata: { order: '42', constructor: 'x', empty: '' },
      offSession: true,
      returnUrl: 'https://shop.example/42',
    })
  })

  test.each([
    ['absent', {}],
    ['null', { customer: null, description: null, reference: null, metadata: null }],
  ])('has defaults for optional fields that are %s', (_, optional) => {
    expect(paymentRequestOf({ ...required, ...optional })).toMatchObject({
      captureMethod: 'automatic',
      customer: null,
      description: null,
      reference: null,
      metadata: {},
    })
  })

  test('reads payment methods by provider, without those that are null', () => {
    const { payment_method: _one, ...others } = required
    const none = Object.fromEntries(providerNames.map((name) => [name, null]))
    const body = { ...others, payment_methods: { ...none, stripe: 'pm_1' } }

    expect(paymentRequestOf(body).paymentMethods).toEqual({ stripe: 'pm_1' })
  })

  test.each([1, 999_999_999_999])('accepts the amount %d', (amount) => {
    expect(paymentRequestOf({ ...required, amount }).amountMinor).toBe(amount)
  })

  test.each([
    { payment_method: 'p'.repeat(255) },
    { customer: 'c'.repeat(255) },
    { description: '' },
    { description: 'd'.repeat(1000) },
    // Two UTF-16 units each: JSON Schema counts characters.
    { description: '\u{1F600}'.repeat(1000) },
    { metadata: metadataOf(45) },
    { metadata: { ['\u{1F600}'.repeat(40)]: '\u{1F600}'.repeat(500) } },
    { metadata: { ['n'.repeat(40)]: 'v'.repeat(500), atomic: 'x', Atomic_: 'x', 'a b': 'x' } },
  ])('takes what is just within the limits: %#', (change) => {
    expect(() => paymentRequestOf({ ...required, ...change })).not.toThrow()
  })

  test.each(['__proto__', 'constructor', 'tenant_id', 'status', 'id', 'Amount', 'toString'])(
    'refuses the field %s as unknown',
    (name) => {
      const body = JSON.parse(JSON.stringify(required).replace('{', `{"${name}":"x",`)) as Record<
        string,
        unknown
      >

      expect(problemOf(() => paymentRequestOf(body))).toMatchObject({
        type: 'unknown-field',
        errors: [{ pointer: `/${name}` }],
      })
    },
  )

  test.each([
    0,
    -0,
    -1,
    0.5,
    10.01,
    1_000_000_000_000,
    2 ** 53,
    2 ** 53 + 2,
    1e21,
    Number.NaN,
    '1999',
    '',
    null,
    true,
    [],
    [1999],
    {},
  ])('refuses the amount %p', (amount) => {
    const problem = problemOf(() => paymentRequestOf({ ...required, amount }))

    expect(problem.type).toBe('invalid-amount')
    expect(problem.errors?.every((error) => error.pointer === '/amount')).toBe(true)
  })

  test.each(['USD', 'xxx', '', 'dollars', 'usd ', 'constructor'])(
    'refuses the currency %p as unknown',
    (currency) => {
      expect(problemOf(() => paymentRequestOf({ ...required, currency }))).toMatchObject({
        type: 'unknown-currency',
        errors: [{ pointer: '/currency' }],
      })
    },
  )

  test.each<readonly [string, object]>([
    ['/amount', { amount: undefined }],
    ['/currency', { currency: undefined }],
    ['/currency', { currency: 840 }],
    ['/payment_method', { payment_method: undefined }],
    ['/payment_method', { payment_method: null }],
    ['/payment_method', { payment_method: '' }],
    ['/payment_method', { payment_method: 'pm card' }],
    ['/payment_method', { payment_method: 'pm\n' }],
    ['/payment_method', { payment_method: 'pm_\u00E9' }],
    ['/payment_method', { payment_method: 'p'.repeat(256) }],
    ['/payment_method', { payment_method: { id: 'pm' } }],
    ['/capture_method', { capture_method: 'later' }],
    ['/capture_method', { capture_method: null }],
    ['/customer', { customer: '' }],
    ['/customer', { customer: 7 }],
    ['/customer', { customer: 'c'.repeat(256) }],
    ['/description', { description: 7 }],
    ['/description', { description: 'd'.repeat(1001) }],
    ...['yes', 1].map((value) => ['/off_session', { off_session: value }] as const),
    ...[
      '',
      '/paid',
      'javascript:alert(1)',
      'data:text/html,paid',
      'https://shop.example/a b',
      `https://shop.example/${'a'.repeat(2_048)}`,
      7,
    ].map((value) => ['/return_url', { return_url: value }] as const),
    ['/metadata', { metadata: 'x' }],
    ['/metadata', { metadata: ['x'] }],
    ['/metadata', { metadata: metadataOf(46) }],
    ['/metadata', { metadata: { '': 'x' } }],
    ['/metadata', { metadata: { 'a[b]': 'x' } }],
    ['/metadata', { metadata: { ['n'.repeat(41)]: 'x' } }],
    ['/metadata/atomic_id', { metadata: { atomic_id: 'x' } }],
    ['/metadata/a', { metadata: { a: 1 } }],
    ['/metadata/a', { metadata: { a: null } }],
    ['/metadata/a', { metadata: { a: { b: 'x' } } }],
    ['/metadata/a', { metadata: { a: 'v'.repeat(501) } }],
  ])('refuses at %s: %j', (pointer, change) => {
    const problem = problemOf(() => paymentRequestOf({ ...required, ...change }))

    expect(problem.type).toBe('invalid-field')
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
  })

  test('refuses __proto__ in metadata, which zod would drop', () => {
    const body = { ...required, metadata: JSON.parse('{"__proto__":"x"}') as unknown }

    expect(problemOf(() => paymentRequestOf(body)).type).toBe('unknown-field')
  })

  test('lists what is wrong with every field at once', () => {
    const problem = problemOf(() => paymentRequestOf({ amount: -1, currency: 'USD', id: 'x' }))

    expect(problem.errors?.map((error) => error.pointer)).toEqual([
      '/id',
      '/amount',
      '/currency',
      '/payment_method',
    ])
  })
})

describe('createPaymentBody', () => {
  test('has its limits in the JSON schema of the contract', () => {
    const contract = z.toJSONSchema(createPaymentBody, { io: 'input' })

    expect(contract).toMatchObject({
      additionalProperties: false,
      required: ['amount', 'currency'],
      $defs: { ChargeAmount: { type: 'integer', minimum: 1, maximum: 999_999_999_999 } },
      properties: {
        amount: { $ref: '#/$defs/ChargeAmount' },
        currency: { type: 'string', pattern: '^[a-z]{3}$' },
        capture_method: { enum: ['automatic', 'manual'], default: 'automatic' },
        metadata: { anyOf: [{ maxProperties: 45 }, { type: 'null' }] },
      },
    })
  })
})
