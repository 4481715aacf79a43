// What the client, the MCP server and the terminal make of an answer that is not one of the service.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { unwrap } from '../../client/errors.ts'
import { createClient, type Client } from '../../client/index.ts'
import type { RetryOptions } from '../../client/retry.ts'
import { connectStdio, type Agent } from '../mcp/connect.ts'
import { service, tenant } from '../support/shared-service.ts'
import {
  BODY,
  closeConnection,
  failureOf,
  PAYMENT,
  problem,
  respond,
  SOON,
  startServiceDouble,
  type ServiceDouble,
} from './service-double.ts'
import {
  FOREIGN_ANSWERS,
  reply,
  startSubstitutingProxy,
  type SubstitutingProxy,
} from './substituting-proxy.ts'

const clientOf = (baseUrl: string, apiKey: string, retry: RetryOptions = {}): Client =>
  createClient({ baseUrl, apiKey, retry: { baseDelayMs: 1, maxDelayMs: 10, ...retry } })

describe('an answer that is not one of the service', () => {
  let double: ServiceDouble

  afterEach(() => double.stop())

  async function payAt(
    responders: Parameters<typeof startServiceDouble>,
    retry: RetryOptions = {},
  ) {
    double = await startServiceDouble(...responders)
    const client = clientOf(double.url, 'sk_test_double', retry)
    return await client.POST('/v1/payments', { idempotencyKey: 'key', body: BODY })
  }

  test.each(FOREIGN_ANSWERS)('%s: the call is retried with its key', async (_, foreign) => {
    const answer = await payAt([foreign, foreign, respond(201, PAYMENT)])

    expect(unwrap(answer)).toEqual(PAYMENT)
    const sent = { method: 'POST', key: 'key', body: JSON.stringify(BODY) }
    expect(double.received).toEqual([sent, sent, sent])
  })

  test.each(FOREIGN_ANSWERS)('%s: the last one ends in NoAnswerError', async (_, foreign) => {
    const error = await failureOf(payAt([foreign], { maxFailures: 2 }))

    expect(error).toMatchObject({ name: 'NoAnswerError', tries: 2, idempotencyKey: 'key' })
    expect(error['message']).toMatch(/repeat the call with the same key/)
    expect(error['cause']).toMatchObject({ name: 'ForeignAnswerError' })
    expect(double.received.map(({ method }) => method)).toEqual(['POST', 'POST'])
  })

  test.each(FOREIGN_ANSWERS)('%s: a read is retried too', async (_, foreign) => {
    double = await startServiceDouble(foreign, respond(200, PAYMENT))
    const client = clientOf(double.url, 'sk_test_double')
    const answer = await client.GET('/v1/payments/{id}', { params: { path: { id: 'pay_1' } } })

    expect(unwrap(answer)).toEqual(PAYMENT)
  })

  test('its Retry-After is respected', async () => {
    const delays: number[] = []
    const busy = reply(503, '<html>', { 'retry-after': '1' })

    await payAt([busy, respond(201, PAYMENT)], {
      onRetry: ({ delayMs }) => void delays.push(delayMs),
    })

    expect(delays).toEqual([expect.any(Number)])
    expect(delays[0]).toBeGreaterThanOrEqual(1_000)
  })

  test('is named with the address of a redirect, without its query', async () => {
    const location = 'https://login.example/?token=secret'
    const error = await failureOf(payAt([reply(302, '', { location })], { maxFailures: 1 }))

    expect(error['message']).toContain('a redirect to https://login.example/: set baseUrl')
    expect(error['message']).not.toContain('secret')
  })

  test('is noticed although the fetch of the caller follows redirects', async () => {
    double = await startServiceDouble(
      reply(302, '', { location: '/v1/payments' }),
      respond(200, { object: 'list', data: [] }),
    )
    const follow = async (request: Request) => await fetch(request, { redirect: 'follow' })
    const settings = { baseUrl: double.url, apiKey: 'sk_test_double', fetch: follow }
    const client = createClient({ ...settings, retry: { maxFailures: 1 } })

    const error = await failureOf(
      client.POST('/v1/payments', { idempotencyKey: 'key', body: BODY }),
    )

    expect(error).toMatchObject({ name: 'NoAnswerError' })
  })

  test.each([
    ['401', problem(401, 'api-key-invalid')],
    ['403', problem(403, 'scope-missing')],
    ['429', problem(429, 'rate-limited', SOON)],
  ])('a %s does not speak for an earlier try that may have run', async (_, turnedAway) => {
    for (const first of [
      closeConnection,
      reply(524, ''),
      problem(500, 'internal-error'),
      problem(409, 'operation-in-progress', SOON),
    ]) {
      const error = await failureOf(payAt([first, turnedAway], { maxFailures: 3 }))
      expect(error).toMatchObject({ name: 'NoAnswerError', idempotencyKey: 'key' })
      expect(error['cause']).toMatchObject({ name: 'ApiError' })
      await double.stop()
    }
    const refused = await payAt([problem(429, 'rate-limited', SOON), turnedAway], {
      maxFailures: 3,
    })
    expect(refused.response.status).toBeGreaterThan(400)
  })
})

describe('behind a proxy that answers itself after the service has paid', () => {
  let proxy: SubstitutingProxy

  let agent: Agent

  beforeAll(async () => {
    proxy = await startSubstitutingProxy(service.apiUrl)
    agent = await connectStdio(proxy.url, tenant)
  })

  afterAll(async () => {
    await agent.client.close()
    await proxy.stop()
  })

  const calls = async (paymentId: string) =>
    (await service.executedFor({ id: paymentId })).map(({ kind }) => kind)

  test('a call gets its payment, which is charged once', async () => {
    proxy.substitutes.push(...FOREIGN_ANSWERS.map(([, foreign]) => foreign))
    const client = clientOf(proxy.url, tenant.apiKey, { maxFailures: 100 })

    const answer = await client.POST('/v1/payments', { idempotencyKey: randomUUID(), body: BODY })

    const payment = unwrap(answer)
    expect(payment).toMatchObject({ object: 'payment', status: 'succeeded' })
    expect(proxy.substitutes).toEqual([])
    expect(await calls(payment.id)).toEqual(['payment_intent.create', 'payment_intent.capture'])
  })

  test.each(FOREIGN_ANSWERS)('%s: an agent does not hear of a failure', async (_, foreign) => {
    const order = { ...BODY, reference: randomUUID() }
    // As many as the MCP server makes tries.
    proxy.substitutes.push(foreign, foreign, foreign, foreign)

    const first = await agent.call('pay', order)
    const second = await agent.call('pay', order)

    expect(first).toMatchObject({ outcome: 'not_known_yet', isError: false })
    expect(second).toMatchObject({ outcome: 'succeeded', isError: false })
    expect(await calls(second.payment?.id ?? '')).toEqual([
      'payment_intent.create',
      'payment_intent.capture',
    ])
  })
})
