// Tests the resolver against a real name server.
import { createServer, connect } from 'node:net'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createResolver, lookupBy, NameError, type Resolve } from '../../src/names/resolver.ts'
import { startNameServer, type NameServer } from '../support/name-server.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { listening } from '../support/listening.ts'

let server: NameServer
let nowMs = 0
let resolve: Resolve

function resolver(options: { timeoutMs?: number; hostsFile?: string } = {}): Resolve {
  const servers = [server.address]
  const usual = { timeoutMs: 5_000, hostsFile: '/nonexistent', servers, monotonicMs: () => nowMs }
  return createResolver({ ...usual, ...options })
}

beforeEach(async () => {
  server = await startNameServer()
  nowMs = 0
  resolve = resolver()
})
afterEach(() => server.stop())

describe('a name', () => {
  test('has all its addresses of both families', async () => {
    server.set('shop.test', ['192.0.2.1', '192.0.2.2', '2001:db8::1'])

    expect(await resolve('Shop.test.')).toEqual([
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ])
  })

  test('without addresses is an error that names it', async () => {
    await expect(resolve('nobody.test')).rejects.toThrow(NameError)
    await expect(resolve('nobody.test')).rejects.toMatchObject({
      code: 'ENOTFOUND',
      message: 'the host name nobody.test was not resolved',
    })
  })

  test('with one kind of address needs no answer about the other kind', async () => {
    server.set('shop.test', ['192.0.2.1'])
    server.silent = new Set(['AAAA'])

    const addresses = await resolver({ timeoutMs: 500 })('shop.test')

    expect(addresses).toEqual([{ address: '192.0.2.1', family: 4 }])
  })

  test('whose name server is silent is an error within the time limit', async () => {
    server.silent = new Set(['A', 'AAAA'])
    const startedMs = performance.now()

    await expect(resolver({ timeoutMs: 200 })('shop.test')).rejects.toThrow(NameError)

    expect(performance.now() - startedMs).toBeLessThan(1_000)
  })

  test('that is silent delays no other name', async () => {
    server.silent = new Set(['A', 'AAAA'])
    const patient = resolver({ timeoutMs: 3_000 })
    const silent = Array.from({ length: 50 }, (_, index) =>
      patient(`silent-${index}.test`).catch((error: unknown) => error),
    )
    while (server.asked.length < 100) await new Promise(setImmediate)
    server.silent = new Set()
    server.set('shop.test', ['192.0.2.1'])
    const startedMs = performance.now()

    await patient('shop.test')

    expect(performance.now() - startedMs).toBeLessThan(1_000)
    await Promise.all(silent)
  })
})

describe('an answer', () => {
  test('is kept as long as its records say', async () => {
    server.set('shop.test', ['192.0.2.1'], 30)
    await resolve('shop.test')
    server.set('shop.test', ['192.0.2.9'], 30)

    nowMs = 29_999
    expect(await resolve('shop.test')).toMatchObject([{ address: '192.0.2.1' }])
    nowMs = 30_000
    expect(await resolve('shop.test')).toMatchObject([{ address: '192.0.2.9' }])
  })

  test.each([
    ['a second at least', 0, 999, 1_000],
    ['five minutes at most', 86_400, 299_999, 300_000],
  ])('is kept for %s', async (_, ttl, stillMs, againMs) => {
    server.set('shop.test', ['192.0.2.1'], ttl)
    await resolve('shop.test')
    const { length } = server.asked

    nowMs = stillMs
    await resolve('shop.test')
    expect(server.asked).toHaveLength(length)
    nowMs = againMs
    await resolve('shop.test')
    expect(server.asked).toHaveLength(2 * length)
  })

  test('without one kind of address, of which the server said nothing, is kept for a second', async () => {
    server.set('shop.test', ['192.0.2.1', '2001:db8::1'], 60)
    server.silent = new Set(['A'])
    const impatient = resolver({ timeoutMs: 500 })
    expect(await impatient('shop.test')).toEqual([{ address: '2001:db8::1', family: 6 }])

    server.silent = new Set()
    nowMs += 1_000

    expect(await impatient('shop.test')).toHaveLength(2)
  })

  test('that failed is kept for a second', async () => {
    await expect(resolve('shop.test')).rejects.toThrow(NameError)
    server.set('shop.test', ['192.0.2.1'])

    nowMs = 999
    await expect(resolve('shop.test')).rejects.toThrow(NameError)
    nowMs = 1_000
    expect(await resolve('shop.test')).toMatchObject([{ address: '192.0.2.1' }])
  })

  test('serves all who ask at the same time', async () => {
    server.set('shop.test', ['192.0.2.1'])

    await Promise.all(Array.from({ length: 20 }, () => resolve('shop.test')))

    expect(server.asked.toSorted()).toEqual(['A shop.test', 'AAAA shop.test'])
  })
})

describe('a name of this machine', () => {
  test.each(['localhost', 'api.localhost'])('%s is resolved without a query', async (name) => {
    expect(await resolve(name)).toEqual([
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ])
    expect(server.asked).toEqual([])
  })

  test('is in the file of fixed names', async () => {
    const hostsFile = join(await makeTemporaryFolder(), 'hosts')
    await writeFile(hostsFile, '# fixed\n10.0.0.7  Stripe.internal stripe # ours\nnonsense x\n')

    expect(await resolver({ hostsFile })('stripe.internal')).toEqual([
      { address: '10.0.0.7', family: 4 },
    ])
    expect(server.asked).toEqual([])
  })
})

test('sockets connect to the addresses of the resolver', async () => {
  const { port, stop } = await listening(createServer((socket) => socket.end('hello')))
  server.set('shop.test', ['127.0.0.1'])

  const socket = connect({ host: 'shop.test', port, lookup: lookupBy(resolve) })
  const [bytes] = (await once(socket, 'data')) as [Buffer]

  expect(bytes.toString()).toBe('hello')
  await stop()
})
