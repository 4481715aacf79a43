// Tests every adapter against servers with unexpected answers, lost connections, and missing servers.
// Each case has one outcome, and no request is ever repeated.
import type { RequestListener } from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, test } from '@jest/globals'
import { startAnsweringServer, type AnsweringServer } from './answering-server.ts'
import { callNames } from '../../../src/provider/calls.ts'
import { callNamesOf, callOf, portCalls } from './calls.ts'
import { fixtures } from './fixtures.ts'
import { identityOf } from './payments.ts'

/** Some containers have no IPv6 at all. */
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
)
const testOnIpv6 = hasIpv6 ? test : test.skip

/** A failure shows the whole outcome, with its reason. */
const DONE: unknown = expect.objectContaining({ outcome: 'done' })

describe.each(fixtures)('$name, with an unusual server:', (fixture) => {
  const { adapterFor, calls, knownId, paymentOf, readBefore, refusals, secret } = fixture
  const names = callNamesOf(fixture)
  let server: AnsweringServer
  let reads: number
  afterEach(async () => server.close())

  /** What a call reads first is there. */
  const serve = async (listener: RequestListener, host?: string) => {
    reads = 0
    const answer: RequestListener = (request, response) => {
      if (readBefore === undefined || request.method !== 'GET') return listener(request, response)
      reads += 1
      return readBefore(request, response)
    }
    return await startAnsweringServer(answer, host)
  }
  const requests = () => server.requests() - reads

  const waiting = paymentOf({ providerPaymentId: knownId })

  const authorize = (url: string, identity = identityOf('started')) =>
    adapterFor(url).calls.authorize.execute({ payment: waiting }, identity)

  test.each(names)('%s: the right answer is done', async (name) => {
    const identity = identityOf(name)
    server = await serve(callOf(calls, name).right(waiting, identity))

    const outcome = await portCalls[name].make(adapterFor(server.url), waiting, identity)

    expect(outcome).toEqual(DONE)
    expect(requests()).toBe(1)
  })

  const wrong = names.flatMap((name) =>
    callOf(calls, name).wrong.map(([title, answer]) => ({ name, title, answer })),
  )
  test.each(wrong)('$name: a success with $title is unknown', async ({ name, answer }) => {
    const identity = identityOf(name)
    server = await serve(answer(waiting, identity))

    const outcome = await portCalls[name].make(adapterFor(server.url), waiting, identity)

    expect(outcome.outcome).toBe('unknown')
    expect(requests()).toBe(1)
  })

  test.each(refusals)('%s: %s, for every call', async (_title, expected, listener) => {
    server = await serve(listener)
    const adapter = adapterFor(server.url)

    for (const name of names) {
      const outcome = await portCalls[name].make(adapter, waiting, identityOf(name))

      expect([name, outcome.outcome]).toEqual([name, expected])
    }
    expect(requests()).toBe(names.length)
  })

  test.each(names)('a reset is not repeated, and leaves %s unknown', async (name) => {
    server = await serve((request) => request.socket.resetAndDestroy())

    const outcome = await portCalls[name].make(adapterFor(server.url), waiting, identityOf(name))

    expect(outcome.outcome).toBe('unknown')
    expect(requests()).toBe(1)
  })

  // Node announces neither a response nor an error.
  test.each(names)(
    '%s is unknown, and in time, when the server switches protocols',
    async (name) => {
      server = await serve((request) => {
        const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'
        request.socket.write(head)
      })

      const adapter = adapterFor(server.url, 500)
      const outcome = await portCalls[name].make(adapter, waiting, identityOf(name))

      expect(outcome.outcome).toBe('unknown')
      expect(requests()).toBe(1)
    },
  )

  test('a call that the provider cannot make is declined, and nothing is sent', async () => {
    server = await serve(() => {})
    const adapter = adapterFor(server.url)

    for (const name of callNames.filter((one) => !names.includes(one))) {
      const outcome = await portCalls[name].make(adapter, waiting, identityOf(name))

      expect([name, outcome.outcome]).toEqual([name, 'declined'])
    }
    expect(requests()).toBe(0)
  })

  // A repetition would be refused, which would hide that the first request may have run.
  test('a reset by a server that then refuses connections is unknown', async () => {
    server = await serve((request) => {
      server.refuse()
      request.socket.resetAndDestroy()
    })

    const outcome = await authorize(server.url)

    expect(outcome.outcome).toBe('unknown')
    expect(requests()).toBe(1)
  })

  test('a connection that is reset in the middle of the answer is unknown, and not repeated', async () => {
    server = await serve((request, response) => {
      response.writeHead(200, { 'content-length': 1_000 })
      response.write('{"id": "pi_1",', () => request.socket.resetAndDestroy())
    })

    const outcome = await authorize(server.url)

    expect(outcome.outcome).toBe('unknown')
    expect(requests()).toBe(1)
  })

  test('a reset of a connection that an earlier call left open is unknown, and not repeated', async () => {
    const identity = identityOf('started')
    server = await serve((request, response) => {
      if (requests() === 1) {
        return calls.authorize.right(waiting, identity)(request, response)
      }
      server.refuse()
      request.socket.resetAndDestroy()
    })
    const adapter = adapterFor(server.url)
    const first = await adapter.calls.authorize.execute({ payment: waiting }, identity)

    const outcome = await adapter.calls.authorize.execute({ payment: waiting }, identity)

    expect(first.outcome).toBe('done')
    expect(outcome.outcome).toBe('unknown')
    expect(requests()).toBe(2)
  })

  testOnIpv6('a server with an IPv6 address is reached', async () => {
    const identity = identityOf('started')
    server = await serve(calls.authorize.right(waiting, identity), '::1')

    expect((await authorize(server.url, identity)).outcome).toBe('done')
  })

  test('no part of an exchange contains the secret key, which is sent', async () => {
    const identity = identityOf('started')
    const authorization: string[] = []
    server = await serve((request, response) => {
      authorization.push(request.headers.authorization ?? '')
      calls.authorize.right(waiting, identity)(request, response)
    })

    const done = await authorize(server.url, identity)

    const [scheme, sent = ''] = authorization[0]?.split(' ') ?? []
    const plain = scheme === 'Basic' ? Buffer.from(sent, 'base64').toString() : sent
    expect(plain).toContain(secret)
    expect(done.outcome).toBe('done')
    expect(JSON.stringify(done)).not.toContain(secret)
    expect(JSON.stringify(done)).not.toContain(sent)
  })
})

describe.each(fixtures)(
  '$name, without a server:',
  ({ adapterFor, calls, knownId, paymentOf, secret }) => {
    test('the fixture has the calls that the adapter declares, and no other', () => {
      const names = callNamesOf({ adapterFor })
      expect(Object.keys(calls).toSorted()).toEqual(names.toSorted())
    })

    test.each(callNamesOf({ adapterFor }))('no server listens, %s: not_executed', async (name) => {
      const server = await startAnsweringServer(() => {})
      await server.close()

      const outcome = await portCalls[name].make(
        adapterFor(server.url),
        paymentOf({ providerPaymentId: knownId }),
        identityOf(name),
      )

      expect(outcome).toMatchObject({
        outcome: 'not_executed',
        answered: { error: 'ECONNREFUSED' },
      })
      expect(JSON.stringify(outcome)).not.toContain(secret)
    })

    // Only root may listen on port 1. `.invalid` is reserved never to resolve, RFC 2606 section 2.
    test.each([
      ['none of the addresses of a host listens', 'http://localhost:1', /^ECONNREFUSED$/],
      ['a host that does not resolve', 'http://provider.invalid', /^(ENOTFOUND|EAI_AGAIN)$/],
    ])('%s: not_executed', async (_title, url, error) => {
      const outcome = await adapterFor(url).calls.authorize.execute(
        { payment: paymentOf() },
        identityOf('started'),
      )

      expect(outcome).toMatchObject({
        outcome: 'not_executed',
        answered: { error: expect.stringMatching(error) },
      })
    })
  },
)
