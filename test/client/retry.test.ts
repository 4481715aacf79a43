import { afterEach, describe, expect, test } from '@jest/globals'
import { unwrap } from '../../client/errors.ts'
import { createClient, newIdempotencyKey, type Client } from '../../client/index.ts'
import { readRetryAfter, type Retry, type RetryOptions } from '../../client/retry.ts'
import {
  truncateResponse,
  closeConnection,
  problem,
  respond,
  neverRespond,
  startServiceDouble,
  type ServiceDouble,
} from './service-double.ts'

const PAYMENT = { id: 'pay_1', status: 'succeeded' }
const BODY = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }
const SOON = { 'retry-after': '0' }

let double: ServiceDouble

afterEach(() => double.stop())

interface Setup {
  readonly client: Client
  readonly retries: Retry[]
  readonly pay: (idempotencyKey: string, signal?: AbortSignal) => ReturnType<typeof payWith>
}

async function setUp(
  responders: Parameters<typeof startServiceDouble>,
  options: RetryOptions = {},
): Promise<Setup> {
  double = await startServiceDouble(...responders)
  const retries: Retry[] = []
  const client = createClient({
    baseUrl: double.url,
    apiKey: 'sk_test_double',
    retry: { baseDelayMs: 1, onRetry: (retry) => void retries.push(retry), ...options },
  })
  return { client, retries, pay: (key, signal) => payWith(client, key, signal) }
}

function payWith(client: Client, idempotencyKey: string, signal?: AbortSignal) {
  const aborted = signal === undefined ? {} : { signal }
  return client.POST('/v1/payments', { idempotencyKey, body: BODY, ...aborted })
}

/** How a call ends that brings no answer. */
async function failureOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  return await call.then(
    () => {
      throw new Error('the call has succeeded')
    },
    (error: unknown) => error as Record<string, unknown>,
  )
}

describe('a call with a key', () => {
  test.each([
    ['the connection is closed', closeConnection],
    ['the answer is broken off', truncateResponse],
    ['429', problem(429, 'rate-limited', SOON)],
    ['503', problem(503, 'store-unavailable', SOON)],
    ['500', problem(500, 'internal-error')],
    ['409, in flight', problem(409, 'operation-in-progress', SOON)],
    ['409 of the other flavour', respond(409, { error: {} }, { 'stripe-should-retry': 'true' })],
  ])('after %s, is repeated with the same key and the same bytes', async (_, failure) => {
    const { pay, retries } = await setUp([failure, failure, respond(201, PAYMENT)])
    const key = newIdempotencyKey()

    const answer = await pay(key)

    expect(unwrap(answer)).toEqual(PAYMENT)
    const expected = { method: 'POST', key, body: JSON.stringify(BODY) }
    expect(double.received).toEqual([expected, expected, expected])
    expect(retries.map(({ idempotencyKey }) => idempotencyKey)).toEqual([key, key])
  })

  test.each([
    ['402', problem(402, 'payment-declined')],
    ['409 of a state', problem(409, 'invalid-state')],
    ['422', problem(422, 'idempotency-key-reused')],
    ['500 that is not to be repeated', respond(500, {}, { 'stripe-should-retry': 'false' })],
    ['202', respond(202, { ...PAYMENT, status: 'processing' }, { 'retry-after': '1' })],
  ])('is not repeated after the final answer %s', async (_, final) => {
    const { pay } = await setUp([final])

    await pay('key')

    expect(double.received).toHaveLength(1)
  })

  test('is told by what problem it ended, once its failures are up', async () => {
    const { pay } = await setUp([problem(503, 'provider-unavailable', SOON)], { maxFailures: 3 })

    const error = await failureOf(pay('key').then(unwrap))

    expect(error).toMatchObject({
      name: 'ApiError',
      status: 503,
      problem: 'provider-unavailable',
      body: { title: 'provider-unavailable' },
    })
    expect(double.received).toHaveLength(3)
  })

  test('that is in flight longer than failures are allowed is waited for', async () => {
    const inFlight = problem(409, 'operation-in-progress', SOON)
    const { pay } = await setUp([inFlight, inFlight, inFlight, respond(201, PAYMENT)], {
      maxFailures: 1,
    })

    expect(unwrap(await pay('key'))).toEqual(PAYMENT)
  })

  test('that no try answers says that it may have been done, and under which key', async () => {
    const { pay } = await setUp([closeConnection], { maxFailures: 4 })

    const error = await failureOf(pay('key'))

    expect(error).toMatchObject({ name: 'NoAnswerError', tries: 4, idempotencyKey: 'key' })
    expect(double.received).toHaveLength(4)
  })

  test('gives up a try that nothing comes of, and begins another', async () => {
    const { pay } = await setUp([neverRespond, respond(201, PAYMENT)], { tryTimeoutMs: 50 })

    expect(unwrap(await pay('key'))).toEqual(PAYMENT)
    expect(double.received).toHaveLength(2)
  })

  test('ends at the deadline, in the middle of a try too', async () => {
    const { pay } = await setUp([neverRespond], { deadlineMs: 50 })

    const error = await failureOf(pay('key'))

    expect(error).toMatchObject({ name: 'NoAnswerError', tries: 1 })
  })

  test('returns the answer at once when Retry-After is beyond the deadline', async () => {
    const busy = problem(429, 'rate-limited', { 'retry-after': '3600' })
    const { pay, retries } = await setUp([busy])

    const { response } = await pay('key')

    expect(response.status).toBe(429)
    expect(retries).toEqual([])
  })

  test('ends when its caller wants no more, with the reason that the caller gives', async () => {
    const stop = new AbortController()
    const reason = new Error('the shopper has left')
    const { pay } = await setUp([closeConnection], {
      baseDelayMs: 60_000,
      maxDelayMs: 60_000,
      deadlineMs: 600_000,
      random: () => 1,
      onRetry: () => stop.abort(reason),
    })

    expect(await failureOf(pay('key', stop.signal))).toBe(reason)
    expect(double.received).toHaveLength(1)
  })

  test('that its caller stops in the middle of a try is not repeated', async () => {
    const stop = new AbortController()
    const { pay } = await setUp([
      (response) => {
        stop.abort(new Error('stopped'))
        neverRespond(response)
      },
    ])

    expect(await failureOf(pay('key', stop.signal))).toMatchObject({ message: 'stopped' })
    expect(double.received).toHaveLength(1)
  })
})

test('a GET is repeated without a key', async () => {
  const { client } = await setUp([closeConnection, respond(200, PAYMENT)])

  const answer = await client.GET('/v1/payments/{id}', { params: { path: { id: 'pay_1' } } })

  expect(unwrap(answer)).toEqual(PAYMENT)
  expect(double.received.map(({ key }) => key)).toEqual([undefined, undefined])
})

test('a POST without a key is sent once, and no key is made up for it', async () => {
  const { client } = await setUp([closeConnection])

  const rotating = client.POST('/admin/keys/{id}/rotate', {
    params: { path: { id: 'key_1' } },
    body: {},
  })

  expect(await failureOf(rotating)).toMatchObject({ name: 'NoAnswerError', tries: 1 })
  expect(double.received.map(({ key }) => key)).toEqual([undefined])
})

test('a call that needs a key does not compile without one, and an empty one is not sent', async () => {
  const { client, pay } = await setUp([problem(400, 'idempotency-key-missing')])

  // @ts-expect-error The document asks for a key.
  await client.POST('/v1/payments', { body: BODY })

  expect(await failureOf(pay(''))).toMatchObject({ message: 'the idempotency key is empty' })
  expect(double.received.map(({ key }) => key)).toEqual([undefined])
})

test('what sends a try is asked for each of them', async () => {
  double = await startServiceDouble(closeConnection, respond(201, PAYMENT))
  let sent = 0
  const client = createClient({
    baseUrl: double.url,
    apiKey: 'sk_test_double',
    retry: { baseDelayMs: 1 },
    fetch: async (request) => {
      sent += 1
      return await fetch(request)
    },
  })

  expect(unwrap(await payWith(client, 'key'))).toEqual(PAYMENT)
  expect(sent).toBe(2)
})

test('an answer without a body is one', async () => {
  const { client } = await setUp([(response) => void response.writeHead(204).end()])

  const answer = await client.DELETE('/v1/webhook-endpoints/{id}', {
    idempotencyKey: 'key',
    params: { path: { id: 'we_1' } },
  })

  expect(answer.response.status).toBe(204)
})

test.each([
  [null, undefined],
  ['2', 2_000],
  ['Thu, 01 Jan 1970 00:01:30 GMT', 30_000],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 0],
  ['soon', undefined],
])('Retry-After %j is %p ms from now', async (value, expected) => {
  double = await startServiceDouble(closeConnection)
  expect(readRetryAfter(value, 60_000)).toBe(expected)
})
