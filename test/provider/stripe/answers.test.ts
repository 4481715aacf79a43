// Tests the adapter against servers with unexpected answers, lost connections, and missing servers.
// Each case has one outcome, and no request is ever repeated.
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, test } from '@jest/globals'
import {
  adapterFor,
  callNames,
  calls,
  identityOf,
  paymentOf,
  refundOf,
  SECRET_KEY,
} from './adapter-calls.ts'
import { answerJson, startAnsweringServer, type AnsweringServer } from './answering-server.ts'

/** Some containers have no IPv6 at all. */
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)
const testOnIpv6 = hasIpv6 ? test : test.skip

describe('with an unusual server', () => {
  let server: AnsweringServer

  afterEach(async () => server.close())

  /** An intent that matches the request, except for the given members. */
  const intent = (fields: Record<string, unknown> = {}) => ({
    id: 'pi_1',
    object: 'payment_intent',
    amount: 1999,
    amount_capturable: 1999,
    amount_received: 0,
    currency: 'eur',
    status: 'requires_capture',
    client_secret: 'pi_1_secret_1',
    ...fields,
  })
  /** A refund that matches the request, except for the given members. */
  const refund = (fields: Record<string, unknown> = {}) => ({
    id: 're_1',
    object: 'refund',
    amount: 1999,
    currency: 'eur',
    payment_intent: 'pi_1',
    status: 'succeeded',
    ...fields,
  })
  const taken = { status: 'succeeded', amount_capturable: 0, amount_received: 1999 }
  const waiting = paymentOf({ providerPaymentId: 'pi_1' })

  test.each([
    ['an empty object', {}],
    ['an empty list', []],
    ['a foreign object', { status: 'ok' }],
    ['an object without an id', intent({ id: undefined })],
    ['an object of another kind', intent({ object: 'charge' })],
    ['another amount', intent({ amount: 2000 })],
    ['an amount as a text', intent({ amount: '1999' })],
    ['another currency', intent({ currency: 'usd' })],
    ['less held than asked for', intent({ amount_capturable: 1000 })],
    ['a payment that was taken at once', intent(taken)],
    [
      'a payment that waits for its customer, without a secret to ask with',
      intent({ status: 'requires_action', client_secret: null }),
    ],
    [
      'another amount that waits for its customer',
      intent({ status: 'requires_action', amount: 2000 }),
    ],
    ['a payment that is still processing', intent({ status: 'processing' })],
    ['a canceled payment', intent({ status: 'canceled' })],
    ['a number', 5],
    ['a text', 'OK'],
    ['true', true],
    ['null', null],
  ])('200 with %s for an authorization: unknown', async (_, body) => {
    server = await startAnsweringServer(answerJson(200, body))

    const outcome = await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(1)
  })

  test.each([
    ['the intent as it was', intent()],
    ['another intent', intent({ ...taken, id: 'pi_2' })],
    ['another amount', intent({ ...taken, amount: 2000 })],
    ['another currency', intent({ ...taken, currency: 'usd' })],
    ['less taken than asked for', intent({ ...taken, amount_received: 1000 })],
    ['a canceled intent', intent({ status: 'canceled' })],
  ])('200 with %s for a capture: unknown', async (_, body) => {
    server = await startAnsweringServer(answerJson(200, body))

    const outcome = await adapterFor(server.url).calls.capture.execute(
      { payment: waiting, amountMinor: waiting.amountMinor },
      identityOf('authorized'),
    )

    expect(outcome.outcome).toBe('unknown')
  })

  test.each([
    ['an empty object', {}],
    ['null', null],
    ['the intent as it was', intent()],
    ['another intent that was canceled', intent({ status: 'canceled', id: 'pi_2' })],
    ['a captured intent', intent(taken)],
  ])('200 with %s for a cancellation: unknown', async (_, body) => {
    server = await startAnsweringServer(answerJson(200, body))

    const outcome = await adapterFor(server.url).calls.cancel.execute(
      { payment: waiting, reason: null },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(1)
  })

  test.each([
    ['an empty object', {}],
    ['null', null],
    ['an object without an id', refund({ id: undefined })],
    ['an object of another kind', refund({ object: 'charge' })],
    ['another amount', refund({ amount: 2000 })],
    ['an amount as a text', refund({ amount: '1999' })],
    ['another currency', refund({ currency: 'usd' })],
    ['a refund in a status that we do not know', refund({ status: 'lost' })],
    ['a refund without a status', refund({ status: null })],
  ])('200 with %s for a refund: unknown', async (_, body) => {
    server = await startAnsweringServer(answerJson(200, body))

    const outcome = await adapterFor(server.url).calls.refund.execute(
      { payment: waiting, refund: refundOf(waiting) },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(1)
  })

  test.each(['succeeded', 'pending'])('200 with a refund that is %s: done', async (status) => {
    server = await startAnsweringServer(answerJson(200, refund({ status })))

    const outcome = await adapterFor(server.url).calls.refund.execute(
      { payment: waiting, refund: refundOf(waiting) },
      identityOf('started'),
    )

    expect(outcome).toMatchObject({
      outcome: 'done',
      value: { providerRefundId: 're_1' },
      answered: { status: 200, refund_id: 're_1', refund_status: status, amount: 1999 },
    })
  })

  const invalid = { type: 'invalid_request_error', message: 'no' }
  const stateRefusal = { ...invalid, code: 'payment_intent_unexpected_state' }

  test.each([
    [401, 'not_executed', { error: invalid }],
    [403, 'not_executed', { error: invalid }],
    [429, 'not_executed', { error: invalid }],
    [400, 'unknown', { error: { type: 'idempotency_error', message: 'no' } }],
    [409, 'unknown', { error: invalid }],
    [500, 'unknown', { error: { type: 'api_error', message: 'no' } }],
    [400, 'unknown', { error: 'Bad Request' }],
    [402, 'unknown', { error: { message: 'Payment required' } }],
    [403, 'unknown', { error: 'Forbidden' }],
    [404, 'unknown', { message: 'no route' }],
    [502, 'unknown', { message: 'bad gateway' }],
    [200, 'unknown', { error: true }],
  ])('%i: %s, with %j, for every call', async (status, expected, body) => {
    server = await startAnsweringServer(answerJson(status, body))
    const adapter = adapterFor(server.url)

    for (const name of callNames) {
      const outcome = await calls[name].make(adapter, waiting, identityOf(name))

      expect([name, outcome.outcome]).toEqual([name, expected])
    }
  })

  test.each([
    ['succeeded for the full amount', 'done', intent(taken)],
    ['succeeded for less', 'unknown', intent({ ...taken, amount_received: 1000 })],
    ['canceled', 'declined', intent({ status: 'canceled' })],
    ['still waiting', 'unknown', intent()],
    ['another one', 'unknown', intent({ ...taken, id: 'pi_2' })],
    ['another one that was canceled', 'unknown', intent({ status: 'canceled', id: 'pi_2' })],
    ['not told', 'unknown', undefined],
  ])('a capture refused because the intent is %s: %s', async (_, expected, payment_intent) => {
    server = await startAnsweringServer(
      answerJson(400, { error: { ...stateRefusal, payment_intent } }),
    )

    const outcome = await adapterFor(server.url).calls.capture.execute(
      { payment: waiting, amountMinor: waiting.amountMinor },
      identityOf('authorized'),
    )

    expect(outcome.outcome).toBe(expected)
  })

  test.each([
    ['canceled', 'done', intent({ status: 'canceled' })],
    ['captured', 'declined', intent(taken)],
    ['still waiting', 'unknown', intent()],
    ['another one that was canceled', 'unknown', intent({ status: 'canceled', id: 'pi_2' })],
    ['not told', 'unknown', undefined],
  ])('a cancellation refused because the intent is %s: %s', async (_, expected, payment_intent) => {
    server = await startAnsweringServer(
      answerJson(400, { error: { ...stateRefusal, payment_intent } }),
    )

    const outcome = await adapterFor(server.url).calls.cancel.execute(
      { payment: waiting, reason: null },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe(expected)
  })

  test.each([
    ['409', answerJson(409, { error: invalid }, { 'stripe-should-retry': 'true' })],
    ['429', answerJson(429, { error: invalid }, { 'stripe-should-retry': 'true' })],
    ['500', answerJson(500, { error: invalid }, { 'stripe-should-retry': 'true' })],
    ['503', answerJson(503, { error: invalid }, { 'retry-after': '0' })],
  ])('%s with the advice to retry is not repeated', async (_, listener) => {
    server = await startAnsweringServer(listener)

    await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(server.requests()).toBe(1)
  })

  test.each(callNames)('a reset is not repeated, and leaves %s unknown', async (name) => {
    server = await startAnsweringServer((request) => request.socket.resetAndDestroy())

    const outcome = await calls[name].make(adapterFor(server.url), waiting, identityOf(name))

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(1)
  })

  // A repetition would be refused, which would hide that the first request may have run.
  test('a reset by a server that then refuses connections is unknown', async () => {
    server = await startAnsweringServer((request) => {
      server.refuse()
      request.socket.resetAndDestroy()
    })

    const outcome = await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(1)
  })

  test('a connection that is reset in the middle of the answer is unknown, and not repeated', async () => {
    server = await startAnsweringServer((request, response) => {
      response.writeHead(200, { 'content-length': 1_000 })
      response.write('{"id": "pi_1",', () => request.socket.resetAndDestroy())
    })

    const outcome = await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(1)
  })

  test('a reset of a connection that an earlier call left open is unknown, and not repeated', async () => {
    server = await startAnsweringServer((request, response) => {
      if (server.requests() === 1) return answerJson(200, intent())(request, response)
      server.refuse()
      request.socket.resetAndDestroy()
    })
    const adapter = adapterFor(server.url)
    await adapter.calls.authorize.execute({ payment: paymentOf() }, identityOf('started'))

    const outcome = await adapter.calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('unknown')
    expect(server.requests()).toBe(2)
  })

  testOnIpv6('a server with an IPv6 address is reached', async () => {
    server = await startAnsweringServer(answerJson(200, intent()), '::1')

    const outcome = await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome.outcome).toBe('done')
  })

  test('no part of an exchange contains the secret key', async () => {
    const authorization: string[] = []
    server = await startAnsweringServer((request, response) => {
      authorization.push(request.headers.authorization ?? '')
      answerJson(200, intent())(request, response)
    })

    const done = await adapterFor(server.url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(authorization).toEqual([`Bearer ${SECRET_KEY}`])
    expect(done.outcome).toBe('done')
    expect(JSON.stringify(done)).not.toContain(SECRET_KEY)
  })
})

describe('without a server', () => {
  test.each(callNames)('no server listens, %s: not_executed', async (name) => {
    const server = await startAnsweringServer(() => {})
    await server.close()

    const outcome = await calls[name].make(
      adapterFor(server.url),
      paymentOf({ providerPaymentId: 'pi_1' }),
      identityOf(name),
    )

    expect(outcome).toMatchObject({ outcome: 'not_executed', answered: { error: 'ECONNREFUSED' } })
    expect(JSON.stringify(outcome)).not.toContain(SECRET_KEY)
  })

  test('none of the addresses of a host listens: not_executed', async () => {
    const server = await startAnsweringServer(() => {})
    await server.close()
    const url = server.url.replace('127.0.0.1', 'localhost')

    const outcome = await adapterFor(url).calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome).toMatchObject({ outcome: 'not_executed', answered: { error: 'ECONNREFUSED' } })
  })

  // `.invalid` is reserved never to resolve, RFC 2606 section 2.
  test('a host that does not resolve: not_executed', async () => {
    const outcome = await adapterFor('http://provider.invalid').calls.authorize.execute(
      { payment: paymentOf() },
      identityOf('started'),
    )

    expect(outcome).toMatchObject({
      outcome: 'not_executed',
      answered: { error: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/) },
    })
  })
})
