// Tests the rate limits of the stand-in: each documented limit refuses with its reason, executes
// nothing, and is off until a control route sets it. https://docs.stripe.com/rate-limits
import { expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { createRateLimits } from '../../../../dev/stripe-stand-in/requests/rate-limits.ts'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const T0_MS = 1_800_000_000_000

const provider = ownProvider({ systemNow: () => T0_MS })

const held = () => provider.stripe.paymentIntents.create({ ...payment(), capture_method: 'manual' })

const refusalOf = async (work: Promise<unknown>) =>
  await work.then(
    () => undefined,
    ({ statusCode, code, headers }: Stripe.errors.StripeError) => ({
      statusCode,
      code,
      reason: headers?.['stripe-rate-limited-reason'],
    }),
  )

test.each([
  ['global-rate', { global_per_second: 2 }],
  ['endpoint-rate', { endpoint_per_second: 2 }],
])('429 says in Stripe-Rate-Limited-Reason that the limit is the %s', async (reason, limits) => {
  await provider.control('POST', '/rate_limits', limits)
  await held()
  await held()

  const refused = await refusalOf(held())

  expect(refused).toEqual({ statusCode: 429, code: 'rate_limit', reason })
  expect(await provider.executed()).toHaveLength(2)
  await provider.control('POST', '/clock', { advance_seconds: 1 })
  expect(await refusalOf(held())).toBeUndefined()
})

test('an intent takes a limited number of updates an hour', async () => {
  const { id } = await held()
  const other = await held()
  await provider.control('POST', '/rate_limits', { intent_updates_per_hour: 1 })
  // Refused, but an update nevertheless.
  const tooMuch = provider.stripe.paymentIntents.capture(id, { amount_to_capture: 100_000 })
  expect(await refusalOf(tooMuch)).toMatchObject({ statusCode: 400 })

  const refused = await refusalOf(provider.stripe.paymentIntents.capture(id))

  expect(refused).toMatchObject({ statusCode: 429, reason: 'resource-specific' })
  expect(await refusalOf(provider.stripe.paymentIntents.capture(other.id))).toBeUndefined()
  expect(await refusalOf(provider.stripe.paymentIntents.retrieve(id))).toBeUndefined()
  await provider.control('POST', '/clock', { advance_seconds: 3_600 })
  expect(await refusalOf(provider.stripe.paymentIntents.capture(id))).toBeUndefined()
})

test.each([
  ['global-concurrency', { global_concurrent: 1 }],
  ['endpoint-concurrency', { endpoint_concurrent: 1 }],
])('a request beside as many running ones as allowed is refused: %s', (reason, settings) => {
  const limits = createRateLimits(() => T0_MS)
  limits.set(settings)
  const request = { method: 'GET', path: '/v1/refunds', objectId: '' }

  const end = limits.admit(request)

  const headers = { 'Stripe-Rate-Limited-Reason': reason }
  expect(() => limits.admit(request)).toThrow(expect.objectContaining({ status: 429, headers }))
  end()
  expect(() => limits.admit(request)()).not.toThrow()
})

test('a 429 comes before the idempotency key is looked up', async () => {
  const key = { idempotencyKey: 'key-1' }
  const first = await provider.stripe.paymentIntents.create(payment(), key)
  await provider.control('POST', '/rate_limits', { global_per_second: 0 })

  const refused = await refusalOf(provider.stripe.paymentIntents.create(payment(), key))

  expect(refused).toMatchObject({ statusCode: 429 })
  await provider.control('POST', '/rate_limits', {})
  expect((await provider.stripe.paymentIntents.create(payment(), key)).id).toBe(first.id)
})
