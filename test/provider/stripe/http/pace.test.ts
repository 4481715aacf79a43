// Tests that the adapter keeps within Stripe's limits: reads wait, calls that move money do not, and
// a 429 is told with its reason. https://docs.stripe.com/rate-limits
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { PaymentProvider } from '../../../../src/provider/payment-provider.ts'
import { createPace, type RateLimit } from '../../../../src/provider/stripe/http/pace.ts'
import { createStripeProvider } from '../../../../src/provider/stripe/stripe-provider.ts'
import {
  startProvider,
  type RunningProvider,
} from '../../../dev/stripe-stand-in/running-provider.ts'
import { identityOf, paymentOf } from '../adapter-calls.ts'
import {
  answerJson,
  startAnsweringServer,
  type AnsweringServer,
} from '../../contract/answering-server.ts'

describe('createPace', () => {
  /** A clock that moves when something sleeps. */
  function paceWith(readsPerSecond: number) {
    let nowMs = 0
    const slept: number[] = []
    const sleep = (ms: number) => {
      slept.push(Math.round(ms))
      return Promise.resolve()
    }
    const pace = createPace(readsPerSecond, { nowMs: () => nowMs, sleep })
    return { pace, slept, wait: (ms: number) => (nowMs += ms) }
  }

  test('lets the reads of a second pass, and spaces the others', async () => {
    const { pace, slept } = paceWith(4)

    for (let read = 1; read <= 7; read += 1) await pace.turn(10_000)

    expect(slept).toEqual([250, 500, 750])
  })

  test('pauses reads after a 429, for as long as Retry-After says', async () => {
    const { pace, slept, wait } = paceWith(4)
    pace.pause()
    await pace.turn(10_000)
    wait(10_000)
    pace.pause(3_000)
    await pace.turn(10_000)

    expect(slept).toEqual([1_000, 3_000])
  })

  test('pauses reads for half a minute at most, even if a proxy asks for more', async () => {
    const { pace, slept } = paceWith(4)
    pace.pause(86_400_000)
    await pace.turn(60_000)

    expect(slept).toEqual([30_000])
  })

  test('refuses a read that would wait for too long, which does not delay others', async () => {
    const { pace, slept } = paceWith(1)
    await pace.turn(10_000)

    await expect(pace.turn(500)).rejects.toThrow('too many reads')

    await pace.turn(1_000)
    expect(slept).toEqual([1_000])
  })

  test('does nothing without a limit', async () => {
    const { pace, slept } = paceWith(0)
    pace.pause()

    for (let read = 1; read <= 100; read += 1) await pace.turn(0)

    expect(slept).toEqual([])
  })
})

describe('the adapter', () => {
  let provider: RunningProvider

  beforeAll(async () => {
    provider = await startProvider()
  })
  afterEach(() => provider.control('POST', '/reset'))
  afterAll(async () => provider.close())

  const limitedAdapter = (readsPerSecond: number, limits: RateLimit[]) =>
    createStripeProvider({
      secretKey: 'sk_test_mock',
      apiBase: provider.url,
      timeoutMs: 20_000,
      readsPerSecond,
      rateLimited: (limit) => void limits.push(limit),
    })

  async function heldPayment(adapter: PaymentProvider) {
    const payment = paymentOf()
    const held = await adapter.calls.authorize.execute({ payment }, identityOf('started'))
    if (held.outcome !== 'done') throw new Error('the payment is not held')
    return { ...payment, providerPaymentId: held.value.providerPaymentId }
  }

  test('keeps its reads within the limits of a sandbox, while payments go on', async () => {
    const limits: RateLimit[] = []
    const adapter = limitedAdapter(10, limits)
    const payment = await heldPayment(adapter)
    await provider.control('POST', '/rate_limits', {
      global_per_second: 25,
      endpoint_per_second: 25,
    })

    const startedMs = performance.now()
    const reads = Promise.all(Array.from({ length: 35 }, () => adapter.retrieve(payment)))
    await heldPayment(adapter)
    const paidAfterMs = performance.now() - startedMs
    const looked = await reads

    expect(limits).toEqual([])
    expect(new Set(looked.map(({ outcome }) => outcome))).toEqual(new Set(['done']))
    expect(performance.now() - startedMs).toBeGreaterThan(2_000)
    expect(paidAfterMs).toBeLessThan(2_000)
  })

  test('tells the reason of a 429, which is no decline', async () => {
    const limits: RateLimit[] = []
    const adapter = limitedAdapter(0, limits)
    await provider.control('POST', '/rate_limits', { endpoint_per_second: 0 })

    const payment = paymentOf()
    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome).toMatchObject({
      outcome: 'not_executed',
      answered: { status: 429, rate_limited_reason: 'endpoint-rate' },
    })
    expect(outcome).not.toHaveProperty('asksToWait')
    expect(limits).toEqual([{ reason: 'endpoint-rate' }])
  })

  test('tells a lock timeout from a limited rate', async () => {
    const limits: RateLimit[] = []
    const adapter = limitedAdapter(0, limits)
    await provider.addFault({ match: {}, fault: 'lock_timeout' })

    const payment = paymentOf()
    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome).toMatchObject({
      outcome: 'not_executed',
      aboutObject: true,
      answered: { code: 'lock_timeout' },
    })
    expect(limits).toEqual([{ reason: 'lock_timeout' }])
  })
})

describe('Stripe-Should-Retry and Retry-After', () => {
  let server: AnsweringServer
  afterEach(async () => server.close())

  test.each([
    { status: 500, headers: { 'stripe-should-retry': 'false' }, outcome: 'unknown', waits: true },
    { status: 500, headers: {}, outcome: 'unknown', waits: undefined },
    { status: 503, headers: { 'stripe-should-retry': 'false' }, outcome: 'unknown', waits: true },
    { status: 409, headers: { 'stripe-should-retry': 'true' }, outcome: 'unknown' },
    { status: 409, headers: { 'stripe-should-retry': 'false' }, outcome: 'unknown', waits: true },
    { status: 429, headers: { 'stripe-should-retry': 'true' }, outcome: 'not_executed' },
    { status: 429, headers: { 'retry-after': '7' }, outcome: 'not_executed', waits: true },
    {
      status: 429,
      headers: { 'retry-after': '7', 'stripe-should-retry': 'true' },
      outcome: 'not_executed',
    },
    { status: 429, headers: { 'retry-after': 'soon' }, outcome: 'not_executed' },
    { status: 500, headers: { 'stripe-should-retry': 'true' }, outcome: 'unknown' },
    { status: 503, headers: { 'retry-after': '0' }, outcome: 'unknown' },
    { status: 402, headers: { 'stripe-should-retry': 'false' }, outcome: 'declined' },
  ])('$status with $headers: $outcome, asks to wait: $waits', async (row) => {
    const error = { type: row.status === 402 ? 'card_error' : 'api_error', message: 'No.' }
    server = await startAnsweringServer((_req, res) => {
      for (const [name, value] of Object.entries(row.headers)) res.setHeader(name, value)
      answerJson(row.status, { error })(_req, res)
    })
    const adapter = createStripeProvider({
      secretKey: 'sk_test_mock',
      apiBase: server.url,
      timeoutMs: 10_000,
    })

    const payment = paymentOf()
    const outcome = await adapter.calls.authorize.execute({ payment }, identityOf('started'))

    expect(outcome.outcome).toBe(row.outcome)
    expect((outcome as { retryLater?: true }).retryLater).toBe(row.waits)
    expect(server.requests()).toBe(1)
  })
})
