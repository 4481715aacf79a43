import { afterEach, describe, expect, test } from '@jest/globals'
import { unwrap } from '../../client/errors.ts'
import { createClient, newIdempotencyKey, type Client } from '../../client/index.ts'
import type { paths } from '../../client/operators-schema.ts'
import { readRetryAfter, type Retry, type RetryOptions } from '../../client/retry.ts'
import {
  BODY,
  closeConnection,
  failureOf,
  problem,
  respond,
  neverRespond,
  PAYMENT,
  SOON,
  startServiceDouble,
  truncateResponse,
  type ServiceDouble,
} from './service-double.ts'

const STRIPE_PROBLEM = { error: { doc_url: '/problems/internal-error' } }

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

describe('a call with a key', () => {
  test.each([
    ['a closed connection', closeConnection],
    ['an incomplete answer', truncateResponse],
    ['503', problem(503, 'store-unavailable', SOON)],
    ['409 while the operation is running', problem(409, 'operation-in-progress', SOON)],
    ['409 in the stripe flavour', respond(409, STRIPE_PROBLEM, { 'stripe-should-retry': 'true' })],
  ])('is retried with the same key and the same bytes after %s', async (_, failure) => {
    const { pay, retries } = await setUp([failure, failure, respond(201, PAYMENT)])
    const key = newIdempotencyKey()

    const answer = await pay(key)

    expect(unwrap(answer)).toEqual(PAYMENT)
    const expected = { method: 'POST', key, body: JSON.stringify(BODY) }
    expect(double.received).toEqual([expected, expected, expected])
    expect(retries.map(({ idempotencyKey }) => idempotencyKey)).toEqual([key, key])
  })

  test('throws the last problem after the maximum number of failures', async () => {
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

  test('waits for a running operation beyond the maximum number of failures', async () => {
    const inFlight = problem(409, 'operation-in-progress', SOON)
    const { pay } = await setUp([inFlight, inFlight, inFlight, respond(201, PAYMENT)], {
      maxFailures: 1,
    })

    expect(unwrap(await pay('key'))).toEqual(PAYMENT)
  })

  test('throws NoAnswerError with its key when no try gets an answer', async () => {
    const { pay } = await setUp([closeConnection], { maxFailures: 4 })

    const error = await failureOf(pay('key'))

    expect(error).toMatchObject({ name: 'NoAnswerError', tries: 4, idempotencyKey: 'key' })
    expect(double.received).toHaveLength(4)
  })

  test('retries after a try that times out', async () => {
    const { pay } = await setUp([neverRespond, respond(201, PAYMENT)], { tryTimeoutMs: 1_000 })

    expect(unwrap(await pay('key'))).toEqual(PAYMENT)
    expect(double.received).toHaveLength(2)
  })

  test('ends at the deadline, even during a try', async () => {
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

  test('throws the reason of the abort when its caller aborts a delay', async () => {
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

  test('is not retried when its caller aborts a try', async () => {
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

test('sends a POST without a key once, and creates no key for it', async () => {
  const { client } = await setUp([closeConnection])

  const canceling = client.POST('/v1/idempotency-keys/{key}/cancel', {
    params: { path: { key: 'key-1' } },
  })

  expect(await failureOf(canceling)).toMatchObject({ name: 'NoAnswerError', tries: 1 })
  expect(double.received.map(({ key }) => key)).toEqual([undefined])
})

test('does not compile a call without its key, and does not send an empty key', async () => {
  const { client, pay } = await setUp([problem(400, 'idempotency-key-missing')])

  // @ts-expect-error The document asks for a key.
  await client.POST('/v1/payments', { body: BODY })

  expect(await failureOf(pay(''))).toMatchObject({ message: 'the idempotency key is empty' })
  expect(double.received.map(({ key }) => key)).toEqual([undefined])
})

test('calls the fetch setting for each try', async () => {
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

test('accepts an answer without a body where the document has one', async () => {
  double = await startServiceDouble((response) => void response.writeHead(204).end())
  const client = createClient<paths>({ baseUrl: double.url, apiKey: 'adm_double' })

  const answer = await client.DELETE('/admin/keys/{id}', { params: { path: { id: 'key_1' } } })

  expect(answer.response.status).toBe(204)
})

test.each([
  [null, undefined],
  ['2', 2_000],
  ['Thu, 01 Jan 1970 00:01:30 GMT', 30_000],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 0],
  ['soon', undefined],
])('reads Retry-After %j as %p ms from now', async (value, expected) => {
  double = await startServiceDouble(closeConnection)
  expect(readRetryAfter(value, 60_000)).toBe(expected)
})
