// Tests what is sent to a URL that a tenant chose, and what is refused.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createResolver, type Resolve } from '../../src/names/resolver.ts'
import { createSender, type SenderOptions } from '../../src/webhooks/send-webhook.ts'
import { startReceiver, status, type Receiver } from '../support/receiver.ts'

let receiver: Receiver

beforeEach(async () => {
  receiver = await startReceiver()
})
afterEach(() => receiver.stop())

/** Longer than any test that does not wait for it. */
const LONG_MS = 20_000

function send(url: string, options: Partial<SenderOptions> = {}, body = '{}') {
  const usual = { timeoutMs: LONG_MS, allowInsecure: true, resolve: resolvingTo() }
  const sender = createSender({ ...usual, ...options })
  return sender({ url, headers: { 'content-type': 'application/json' }, body })
}

/** A resolver that answers its calls with these addresses in turn, and counts them. */
function resolvingTo(...addresses: string[]): Resolve & { calls: string[] } {
  const calls: string[] = []
  const resolve: Resolve = async (hostname) => {
    const address = addresses[calls.length] ?? ''
    calls.push(hostname)
    return [{ address, family: address.includes(':') ? 6 : 4 }]
  }
  return Object.assign(resolve, { calls })
}

describe('a request', () => {
  test('arrives with its headers and body, and returns the status', async () => {
    receiver.answer = status(202)

    expect(await send(receiver.url, {}, '{"name":"Zoë"}')).toEqual({ httpStatus: 202 })
    expect(receiver.received).toMatchObject([
      {
        path: '/webhooks',
        body: '{"name":"Zoë"}',
        headers: {
          host: `127.0.0.1:${receiver.port}`,
          'content-type': 'application/json',
          'content-length': '15',
          connection: 'close',
        },
      },
    ])
  })

  test.each([
    [429, { retryAfter: '120' }],
    [503, { retryAfter: '120' }],
    [500, {}],
    [302, {}],
  ])('reads the Retry-After of a %i: %j', async (answered, read) => {
    receiver.answer = status(answered, { 'retry-after': '120' })

    expect(await send(receiver.url)).toEqual({ httpStatus: answered, ...read })
  })

  test('does not follow a redirect', async () => {
    receiver.answer = status(307, { location: '/elsewhere' })

    expect(await send(receiver.url)).toEqual({ httpStatus: 307 })
    expect(receiver.received.map(({ path }) => path)).toEqual(['/webhooks'])
  })

  test('times out when the name is not resolved in time', async () => {
    const resolve: Resolve = () => new Promise(() => {})

    const reply = await send('http://receiver.test/', { timeoutMs: 50, resolve })
    expect(reply).toEqual({ error: 'timeout' })
  })

  test('fails when no server listens', async () => {
    const { url } = receiver
    await receiver.stop()

    expect(await send(url)).toEqual({ error: 'connection_failed' })
    receiver = await startReceiver()
  })

  test('is not sent when its body is too large', async () => {
    expect(await send(receiver.url, {}, 'x'.repeat(128 * 1024 + 1))).toEqual({
      error: 'body_too_large',
    })
    expect(receiver.received).toEqual([])
  })
})

describe('a URL is refused before its name is resolved', () => {
  test.each([
    ['http', 'http://receiver.test/'],
    ['credentials', 'https://user:secret@receiver.test/'],
    ['loopback', 'https://127.0.0.1/'],
    ['loopback in hexadecimal', 'https://0x7f.1/'],
    ['mapped loopback', 'https://[::ffff:127.0.0.1]/'],
    ['no scheme', 'receiver.test'],
  ])('with %s', async (_, url) => {
    const resolve = resolvingTo('93.184.215.14')

    expect(await send(url, { allowInsecure: false, resolve })).toEqual({ error: 'url_refused' })
    expect(resolve.calls).toEqual([])
  })
})

describe('a name', () => {
  const named = () => `http://receiver.test:${receiver.port}/webhooks`

  test('is resolved by the resolver of the service', async () => {
    const resolve = createResolver({ timeoutMs: LONG_MS, monotonicMs: () => performance.now() })

    const reply = await send(`http://localhost:${receiver.port}/`, { resolve })
    expect(reply).toEqual({ httpStatus: 204 })
  })

  test('that does not resolve is refused', async () => {
    const resolve: Resolve = async () => {
      throw new Error('ENOTFOUND')
    }

    expect(await send(named(), { resolve })).toMatchObject({ error: 'no_public_address' })
  })

  test('without an address is refused', async () => {
    expect(await send(named(), { resolve: async () => [] })).toMatchObject({
      error: 'no_public_address',
    })
  })

  test.each([
    '10.0.0.1',
    '169.254.169.254',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a00:1',
    'fd00::1',
  ])('that leads to %s is refused', async (address) => {
    const resolve = resolvingTo(address)
    expect(await send(named(), { resolve })).toMatchObject({ error: 'no_public_address' })
  })

  test('of this machine is refused where that is not allowed', async () => {
    const options = { allowInsecure: false, resolve: resolvingTo('127.0.0.1') }

    const reply = await send(`https://receiver.test:${receiver.port}/`, options)
    expect(reply).toMatchObject({ error: 'no_public_address' })
  })

  test('with both an allowed and a refused address is refused', async () => {
    const resolve: Resolve = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ]

    expect(await send(named(), { resolve })).toMatchObject({ error: 'no_public_address' })
    expect(receiver.received).toEqual([])
  })

  test('is resolved once, and the checked address is dialled', async () => {
    const resolve = resolvingTo('127.0.0.1', '169.254.169.254')

    expect(await send(named(), { resolve })).toEqual({ httpStatus: 204 })
    expect(resolve.calls).toEqual(['receiver.test'])
    expect(receiver.received[0]?.headers['host']).toBe(`receiver.test:${receiver.port}`)
  })

  test('is resolved and checked again for each attempt', async () => {
    const resolve = resolvingTo('127.0.0.1', '169.254.169.254')

    expect(await send(named(), { resolve })).toEqual({ httpStatus: 204 })
    expect(await send(named(), { resolve })).toMatchObject({ error: 'no_public_address' })
    expect(receiver.received).toHaveLength(1)
  })
})
