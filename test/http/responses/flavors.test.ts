// Every row of the table of flavours, and what the official stripe package makes of the answers.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Stripe } from 'stripe'
import { differences } from '../../../dev/docs/flavours.ts'
import { flavors } from '../../../src/domain/problems/flavor.ts'
import { fetchApi } from '../../support/documented.ts'
import {
  get,
  paymentBody,
  post,
  postPayment,
  read,
  type ApiResponse,
} from '../../support/client.ts'
import { startLimitedApiOn } from '../../support/limited-api.ts'
import { stripeClientOf } from '../../support/stripe-client.ts'
import { expectReplay, makePayment } from '../payments.ts'
import { ONE_TRY, serviceInProcess, tenantOf } from '../../support/for-file.ts'

const visa = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
const declinedCard = { ...visa, payment_method: 'pm_card_chargeDeclined' }

/** Nothing but the members of the schema, which allows no others. */
function expectAcpError(answer: ApiResponse | undefined): void {
  const { type, code, message, param, ...others } = answer?.json ?? {}
  expect(['invalid_request', 'processing_error', 'service_unavailable']).toContain(type)
  expect([typeof code, typeof message]).toEqual(['string', 'string'])
  expect(['undefined', 'string']).toContain(typeof param)
  expect(others).toEqual({})
}

describe.each(flavors)('in the flavour %s', (flavor) => {
  const service = serviceInProcess({
    IDEMPOTENCY_FLAVOR: flavor,
    ...ONE_TRY,
    CHECK_ON_READ_SECONDS: '3600',
  })

  const tenant = tenantOf(service)

  afterEach(() => service.provider.control('DELETE', '/faults'))

  const pay = (fields = {}, options = {}) =>
    postPayment(service.apiUrl, tenant, paymentBody(fields), options)
  const errorOf = ({ json }: ApiResponse) =>
    (flavor === 'acp' ? json : json['error']) as Record<string, unknown>

  async function whileInFlight(key: string): Promise<ApiResponse> {
    service.worker.pause()
    try {
      await pay({}, { key, headers: { prefer: 'respond-async' } })
      return await pay({}, { key })
    } finally {
      service.worker.resume()
    }
  }

  async function whileUnknown(key: string): Promise<ApiResponse> {
    // A card that no other test uses, so that the fault is not injected into another test's late
    // payment.
    const fields = { payment_method: 'pm_card_mastercard' }
    await service.provider.addFault({ match: fields, fault: 'nonsense_body' })
    await pay(fields, { key })
    return await pay(fields, { key })
  }

  const decline = (key: string) => pay({ payment_method: 'pm_card_chargeDeclined' }, { key })

  /** Causes each error of the table. */
  const acts: Record<string, () => Promise<ApiResponse>> = {
    'same key, another request': async () => {
      const key = randomUUID()
      await pay({}, { key })
      return await pay({ amount: 2_000 }, { key })
    },
    'no key': async () => {
      const headers = {
        authorization: `Bearer ${tenant.apiKey}`,
        'content-type': 'application/json',
      }
      const request = { method: 'POST', headers, body: JSON.stringify(paymentBody()) }
      return await read(await fetchApi(`${service.apiUrl}/v1/payments`, request))
    },
    'same key, in flight': () => whileInFlight(randomUUID()),
    'same key, outcome unknown': () => whileUnknown(randomUUID()),
    'a field that is not accepted': () => pay({ description: 5 }),
    'a payment whose status does not allow it': async () => {
      const payment = await makePayment(service, tenant, 'succeeded')
      return await post(service.apiUrl, tenant, `/v1/payments/${payment.id}/capture`)
    },
    'a refund of a disputed payment': async () => {
      const { json } = await pay({ payment_method: 'pm_card_createDispute' })
      return await post(service.apiUrl, tenant, `/v1/payments/${String(json['id'])}/refunds`)
    },
    'a form instead of a JSON body': () => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const form = 'amount=1999&currency=usd&payment_method=pm_card_visa'
      return postPayment(service.apiUrl, tenant, form, { headers })
    },
  }

  const withErrors = differences.filter((difference) => typeof difference[flavor] !== 'string')

  test.each(withErrors)('$situation: returns the error of the table', async (difference) => {
    const answer = await acts[difference.situation]?.()

    expect(answer?.status).toBe((difference[flavor] as { status: number }).status)
    const { status, ...error } = difference[flavor] as { status: number }
    expect(answer && errorOf(answer)).toMatchObject(error)
    if (flavor === 'ietf') expect(answer?.json['status']).toBe(status)
    if (flavor === 'stripe') expect(Object.keys(answer?.json ?? {})).toEqual(['error'])
    if (flavor === 'acp') expectAcpError(answer)
  })

  /** Checks each row that concerns more than one error. */
  const checks: Record<string, () => Promise<void>> = {
    "an error's body": async () => {
      const types = {
        ietf: 'application/problem+json',
        stripe: 'application/json',
        acp: 'application/json',
      }
      const answers = [
        await decline(randomUUID()),
        await pay({ amount: -1 }),
        await get(service.apiUrl, tenant, '/v1/payments/none'),
        await get(service.apiUrl, { ...tenant, apiKey: 'sk_none' }, '/v1/payments'),
        await read(await fetchApi(`${service.apiUrl}/none`)),
      ]
      for (const answer of answers) {
        expect(answer.headers.get('content-type')).toBe(`${types[flavor]}; charset=utf-8`)
        const text = expect.stringMatching(/./)
        expect(errorOf(answer)).toMatchObject({ type: text, code: text, message: text })
        expect('title' in answer.json).toBe(flavor === 'ietf')
        if (flavor === 'acp') expectAcpError(answer)
      }
    },
    'details of an error': async () => {
      const refused = await pay({ amount: -1 })
      const declined = await decline(randomUUID())
      if (flavor === 'acp') {
        expect(refused.json).toMatchObject({ code: 'invalid_amount', param: '$.amount' })
        expect(declined.json).toMatchObject({ type: 'invalid_request', code: 'card_declined' })
        return
      }
      const place = (answer: ApiResponse) => (flavor === 'ietf' ? answer.json : errorOf(answer))
      expect(place(refused)['errors']).toMatchObject([{ pointer: '/amount' }])
      expect(errorOf(refused)['param']).toBe('amount')
      expect(place(declined)['payment']).toMatchObject({ object: 'payment', status: 'declined' })
      expect(errorOf(declined)).toMatchObject({
        type: 'card_error',
        code: 'card_declined',
        decline_code: 'generic_decline',
      })
    },
    '`Stripe-Should-Retry`': async () => {
      const key = randomUUID()
      const first = await decline(key)
      const payment = await makePayment(service, tenant, 'succeeded')
      const final = [
        first,
        await decline(key),
        await pay(),
        await pay({}, { headers: { prefer: 'respond-async' } }),
        await pay({ amount: -1 }),
        await post(service.apiUrl, tenant, `/v1/payments/${payment.id}/capture`),
        await acts['same key, another request']?.(),
        await get(service.apiUrl, tenant, `/v1/payments/${payment.id}`),
      ]
      const inFlight = await whileInFlight(randomUUID())
      const unknown = await whileUnknown(randomUUID())
      const amex = { payment_method: 'pm_card_amex' }
      await service.provider.addFault({ match: amex, fault: 'rate_limited' })
      const notExecuted = await pay(amex)

      const adviceOf = (answer?: ApiResponse) => answer?.headers.get('stripe-should-retry')
      const expected = (worth: boolean) => (flavor === 'stripe' ? String(worth) : null)
      expect(final.map(adviceOf)).toEqual(final.map(() => expected(false)))
      expect(final.map((answer) => answer?.status)).toEqual([
        402,
        402,
        201,
        202,
        flavor === 'stripe' ? 400 : 422,
        flavor === 'stripe' ? 400 : 409,
        flavor === 'stripe' ? 400 : 422,
        200,
      ])
      for (const answer of [inFlight, unknown, notExecuted]) {
        expect(adviceOf(answer)).toBe(expected(true))
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      }
      expect(notExecuted.status).toBe(503)
    },
    '`Idempotency-Key` in the answer': async () => {
      const key = `"key of ${randomUUID()}"`
      const answer = await pay({}, { key })
      const refused = await pay({ amount: -1 }, { key: randomUUID() })
      expect(answer.headers.get('idempotency-key')).toBe(flavor === 'ietf' ? null : key)
      expect(refused.headers.get('idempotency-key')).toBeNull()
    },
    '`Request-Id`, `Idempotent-Replayed`, `Retry-After`': async () => {
      const key = randomUUID()
      await pay({}, { key })
      const replay = await pay({}, { key })
      expect(replay.headers.get('request-id')).toMatch(/^req_/)
      expect(replay.headers.get('idempotent-replayed')).toBe('true')
      expect(replay.headers.get('stripe-version')).toBeNull()
    },
    'a final answer stored before the flavour changed': async () => {
      const other = flavors.find((candidate) => candidate !== flavor)
      const key = randomUUID()
      const first = await decline(key)
      const settings = { IDEMPOTENCY_FLAVOR: other ?? '' }
      const changed = await startLimitedApiOn(service.databaseUrl, settings)
      const body = paymentBody({ payment_method: 'pm_card_chargeDeclined' })
      const replay = await postPayment(changed.url, tenant, body, { key })
      await changed.stop()
      expect(first.status).toBe(402)
      expectReplay(replay, first)
    },
  }

  const others = differences.filter((difference) => typeof difference[flavor] === 'string')

  test.each(others)('$situation: is as in the table', async ({ situation }) => {
    expect.hasAssertions()
    await checks[situation]?.()
  })

  // Clients of the Agentic Commerce Protocol do not use this package.
  if (flavor === 'acp') return

  describe('the official stripe package', () => {
    let stripe: Stripe
    beforeAll(() => {
      stripe = stripeClientOf(service.apiUrl, tenant)
    })

    const payBy = (params = visa, idempotencyKey: string = randomUUID(), client = stripe) =>
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
      const first = await payBy(visa, key)
      const replay = await payBy(visa, key)

      expect(first).toMatchObject({ object: 'payment', status: 'succeeded' })
      expect(replay).toEqual(first)
      expect(first.lastResponse).toMatchObject({ requestId: expect.stringMatching(/^req_/) })
      expect(first.lastResponse.idempotencyKey).toBe(flavor === 'stripe' ? key : undefined)
    })

    const asStripe = (type: string) => (flavor === 'stripe' ? type : 'StripeAPIError')
    const reused = async () => {
      const key = randomUUID()
      await payBy(visa, key)
      return await payBy({ ...visa, amount: 2000 }, key)
    }
    const byStranger = () => {
      const stranger = stripeClientOf(service.apiUrl, { ...tenant, apiKey: 'sk_test_none' })
      return payBy(visa, randomUUID(), stranger)
    }
    const whileUnavailable = async () => {
      const amex = { payment_method: 'pm_card_amex' }
      await service.provider.addFault({ match: amex, fault: 'rate_limited', times: 10 })
      try {
        return await payBy({ ...visa, ...amex })
      } finally {
        await service.provider.control('DELETE', '/faults')
      }
    }
    const tooOften = async () => {
      const settings = { RATE_LIMIT_READS: '1', RATE_LIMIT_WINDOW_SECONDS: '3600' }
      const limited = await startLimitedApiOn(service.databaseUrl, settings)
      const client = stripeClientOf(limited.url, tenant)
      const list = () => client.rawRequest('GET', '/v1/payments')
      // Three requests, in case a window ends between them.
      try {
        return await Promise.all([list(), list(), list()])
      } finally {
        await limited.stop()
      }
    }

    test.each<[string, () => Promise<unknown>, object]>([
      [
        'a declined card',
        () => payBy(declinedCard),
        {
          type: 'StripeCardError',
          statusCode: 402,
          code: 'card_declined',
          decline_code: 'generic_decline',
        },
      ],
      [
        'an invalid field',
        () => payBy({ ...visa, amount: -1 }),
        {
          type: asStripe('StripeInvalidRequestError'),
          rawType: 'invalid_request_error',
          param: 'amount',
        },
      ],
      [
        'a small amount',
        () => payBy({ ...visa, amount: 49 }),
        {
          type: asStripe('StripeInvalidRequestError'),
          code: 'amount_too_small',
          param: 'amount',
        },
      ],
      [
        'a reused idempotency key',
        reused,
        { type: asStripe('StripeIdempotencyError'), rawType: 'idempotency_error' },
      ],
      ['an invalid API key', byStranger, { type: 'StripeAuthenticationError', statusCode: 401 }],
      [
        'an unknown payment',
        () => stripe.rawRequest('GET', '/v1/payments/none'),
        { type: 'StripeInvalidRequestError', code: 'resource_missing' },
      ],
      ['too many requests', tooOften, { type: 'StripeRateLimitError', code: 'rate_limit' }],
      ['an unavailable provider', whileUnavailable, { type: 'StripeAPIError', statusCode: 503 }],
    ])('throws for %s', async (_, call, error) => {
      expect(await thrownBy(call())).toMatchObject(error)
    })

    test('retries while the first request is in progress, and gets its result', async () => {
      const key = randomUUID()
      const patient = stripeClientOf(service.apiUrl, tenant, 8)
      const requests = counting(patient)
      service.worker.pause()
      await postPayment(service.apiUrl, tenant, visa, {
        key,
        headers: { prefer: 'respond-async' },
      })

      // The second request proves that the first answer caused a retry.
      patient.on('request', () => requests.count === 2 && service.worker.resume())
      const payment = await payBy(visa, key, patient)

      expect(payment).toMatchObject({ object: 'payment', status: 'succeeded' })
      expect(requests.count).toBeGreaterThan(1)
      expect(await service.executedFor(payment)).toHaveLength(2)
    })

    test('does not retry a decline', async () => {
      const eager = stripeClientOf(service.apiUrl, tenant, 2)
      const requests = counting(eager)
      await thrownBy(payBy(declinedCard, randomUUID(), eager))

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
})
