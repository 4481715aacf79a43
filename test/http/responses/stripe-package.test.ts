// The official stripe package as a client of the API in the flavors that are for it: which errors it throws, and
// when it retries.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { flavors } from '../../../src/domain/problems/flavor.ts'
import { postPayment } from '../../support/client.ts'
import { startService, type OwnService, type Tenant } from '../../support/service.ts'
import { stripeClientOf } from '../../support/stripe-client.ts'
import { makePayment } from '../payments.ts'

const visa = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
const declined = { ...visa, payment_method: 'pm_card_chargeDeclined' }

/** Clients of the Agentic Commerce Protocol do not use this package. */
const ofPackage = flavors.filter((flavor) => flavor !== 'acp')

describe.each(ofPackage)('in the flavor %s', (flavor) => {
  let service: OwnService
  let tenant: Tenant
  let stripe: Stripe

  beforeAll(async () => {
    service = await startService({
      IDEMPOTENCY_FLAVOR: flavor,
      JOB_RETRY_LIMIT: '0',
      PROVIDER_OUTAGE_SECONDS: '0',
    })
    tenant = await service.createTenant()
    stripe = stripeClientOf(service.apiUrl, tenant)
  })
  afterAll(() => service.stop())

  const pay = (params = visa, idempotencyKey: string = randomUUID(), client = stripe) =>
    client.rawRequest('POST', '/v1/payments', params, { idempotencyKey })

  /** Resolves with the error that the package throws. */
  async function thrownBy(call: Promise<unknown>): Promise<Stripe.errors.StripeError> {
    return await call.then(
      () => {
        throw new Error('the package treated the answer as a success')
      },
      (error: Stripe.errors.StripeError) => error,
    )
  }

  /** Counts the requests of a client. */
  function counting(client: Stripe): { count: number } {
    const requests = { count: 0 }
    client.on('request', () => void (requests.count += 1))
    return requests
  }

  test('returns a payment, and its replay is the same', async () => {
    const key = randomUUID()
    const first = await pay(visa, key)
    const replay = await pay(visa, key)

    expect(first).toMatchObject({ object: 'payment', status: 'succeeded' })
    expect(replay).toEqual(first)
    expect(first.lastResponse).toMatchObject({ requestId: expect.stringMatching(/^req_/) })
    expect(first.lastResponse.idempotencyKey).toBe(flavor === 'stripe' ? key : undefined)
  })

  test('throws StripeCardError with the decline code for a declined card', async () => {
    const error = await thrownBy(pay(declined))

    expect(error).toMatchObject({
      type: 'StripeCardError',
      statusCode: 402,
      code: 'card_declined',
      decline_code: 'generic_decline',
    })
  })

  test('throws for an invalid field, as with Stripe in the flavor stripe', async () => {
    const error = await thrownBy(pay({ ...visa, amount: -1 }))

    expect(error).toMatchObject({
      type: flavor === 'stripe' ? 'StripeInvalidRequestError' : 'StripeAPIError',
      rawType: 'invalid_request_error',
      param: 'amount',
    })
  })

  test("throws for a small amount with Stripe's code", async () => {
    const error = await thrownBy(pay({ ...visa, amount: 49 }))

    expect(error).toMatchObject({
      type: flavor === 'stripe' ? 'StripeInvalidRequestError' : 'StripeAPIError',
      rawType: 'invalid_request_error',
      code: 'amount_too_small',
      param: 'amount',
    })
  })

  test('throws for a reused idempotency key, StripeIdempotencyError in the flavor stripe', async () => {
    const key = randomUUID()
    await pay(visa, key)
    const error = await thrownBy(pay({ ...visa, amount: 2000 }, key))

    expect(error).toMatchObject({
      type: flavor === 'stripe' ? 'StripeIdempotencyError' : 'StripeAPIError',
      rawType: 'idempotency_error',
    })
  })

  test('throws StripeAuthenticationError for an invalid API key', async () => {
    const stranger = stripeClientOf(service.apiUrl, { ...tenant, apiKey: 'sk_test_none' })
    const error = await thrownBy(pay(visa, randomUUID(), stranger))

    expect(error).toMatchObject({ type: 'StripeAuthenticationError', statusCode: 401 })
  })

  test('throws StripeInvalidRequestError for an unknown payment', async () => {
    const error = await thrownBy(stripe.rawRequest('GET', '/v1/payments/none'))

    expect(error).toMatchObject({ type: 'StripeInvalidRequestError', code: 'resource_missing' })
  })

  test('throws StripeRateLimitError for too many requests', async () => {
    const limited = await service.startApi({
      RATE_LIMIT_READS: '1',
      RATE_LIMIT_WINDOW_SECONDS: '3600',
    })
    const client = stripeClientOf(limited.url, tenant)
    const list = () => client.rawRequest('GET', '/v1/payments')
    // Three requests, in case a window ends between them.
    const errors = await Promise.all([list(), list(), list()].map(thrownByIfAny))

    limited.process.kill('SIGTERM')
    expect(errors.filter((error) => error !== undefined)[0]).toMatchObject({
      type: 'StripeRateLimitError',
      code: 'rate_limit',
    })
  })

  test('throws StripeAPIError when the provider is unavailable', async () => {
    const amex = { payment_method: 'pm_card_amex' }
    await service.control('POST', 'faults', { match: amex, fault: 'rate_limited', times: 10 })
    const error = await thrownBy(pay({ ...visa, ...amex }))
    await service.control('DELETE', 'faults')

    expect(error).toMatchObject({ type: 'StripeAPIError', statusCode: 503 })
  })

  test('retries while the first request is in progress, and gets its result', async () => {
    const key = randomUUID()
    const patient = stripeClientOf(service.apiUrl, tenant, 8)
    const requests = counting(patient)
    service.worker.kill('SIGSTOP')
    await postPayment(service.apiUrl, tenant, visa, {
      key,
      headers: { prefer: 'respond-async' },
    })
    // The second request proves that the first answer caused a retry.
    patient.on('request', () => requests.count === 2 && service.worker.kill('SIGCONT'))
    const payment = await pay(visa, key, patient)

    expect(payment).toMatchObject({ object: 'payment', status: 'succeeded' })
    expect(requests.count).toBeGreaterThan(1)
    expect(await service.executedFor(payment as unknown as { id: string })).toHaveLength(2)
  })

  test('does not retry a decline', async () => {
    const eager = stripeClientOf(service.apiUrl, tenant, 2)
    const requests = counting(eager)
    await thrownBy(pay(declined, randomUUID(), eager))

    expect(requests.count).toBe(1)
  })

  test('does not retry an error that no retry can change, in the flavor stripe', async () => {
    const { id } = await makePayment(service, tenant, 'succeeded')
    const eager = stripeClientOf(service.apiUrl, tenant, 1)
    const requests = counting(eager)
    const error = await thrownBy(eager.rawRequest('POST', `/v1/payments/${id}/capture`, {}))

    const statusCode = flavor === 'stripe' ? 400 : 409
    expect(error).toMatchObject({ statusCode, code: 'invalid_state' })
    // Without the header Stripe-Should-Retry, the package retries every 409.
    expect(requests.count).toBe(flavor === 'stripe' ? 1 : 2)
  })
})

function thrownByIfAny(call: Promise<unknown>): Promise<Stripe.errors.StripeError | undefined> {
  return call.then(
    () => undefined,
    (error: Stripe.errors.StripeError) => error,
  )
}
