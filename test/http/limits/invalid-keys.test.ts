// Beyond a limit for its address, no guessed API key is looked up in the store.
import { beforeEach, describe, expect, test } from '@jest/globals'
import { makeApiKey } from '../../../src/db/tenants/api-keys.ts'
import { createInvalidKeysLimit } from '../../../src/http/limits/invalid-keys.ts'
import { read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import type { ServedApi } from '../../support/served-api.ts'
import { expectProblem } from '../payments.ts'
import { limitedApi, tenantOf } from '../../support/for-file.ts'

const LIMIT = 5

const api = limitedApi()
const tenant = tenantOf(api)

const settings = {
  RATE_LIMIT_INVALID_KEYS: String(LIMIT),
  RATE_LIMIT_WINDOW_SECONDS: '3600',
  API_KEY_CACHE_SECONDS: '0',
}

/** An API of its own, because each process counts by itself, and how many keys it has looked up. */
async function serve(own: Record<string, string> = {}) {
  const served = await api.serve({ ...settings, ...own })
  const { apiKeyCache } = served.parts
  let lookedUp = 0
  const find = apiKeyCache.find.bind(apiKeyCache)
  apiKeyCache.find = async (apiKey) => {
    lookedUp += 1
    return await find(apiKey)
  }
  return { ...served, lookedUp: () => lookedUp }
}

async function ask(
  { url }: Pick<ServedApi, 'url'>,
  apiKey: string,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const authorization = `Bearer ${apiKey}`
  return await read(
    await fetchApi(`${url}/v1/payments`, { headers: { ...headers, authorization } }),
  )
}

async function guess(served: ServedApi, times: number, headers?: Record<string, string>) {
  for (let made = 0; made < times; made += 1) await ask(served, makeApiKey(), headers)
}

describe('an address', () => {
  let served: Awaited<ReturnType<typeof serve>>

  beforeEach(async () => {
    served = await serve()
  })

  test('many random keys cost the store no more than the limit', async () => {
    await guess(served, 20 * LIMIT)

    expect(served.lookedUp()).toBe(LIMIT)
  })

  test('beyond the limit gets 429 with a Retry-After, even for a valid key', async () => {
    await guess(served, LIMIT)

    for (const apiKey of [makeApiKey(), 'nonsense', tenant.apiKey]) {
      const answer = await ask(served, apiKey)
      expectProblem(answer, 'too-many-invalid-keys')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })

  test('beyond the limit can use a key that has worked', async () => {
    expect((await ask(served, tenant.apiKey)).status).toBe(200)

    await guess(served, LIMIT)

    expect((await ask(served, tenant.apiKey)).status).toBe(200)
  })

  test('is that of the connection, so that no header gives a guesser another one', async () => {
    for (let made = 0; made < LIMIT; made += 1) {
      await ask(served, makeApiKey(), { 'x-forwarded-for': `192.0.2.${made}` })
    }

    const answer = await ask(served, makeApiKey(), { 'x-forwarded-for': '192.0.2.99' })
    expectProblem(answer, 'too-many-invalid-keys')
  })
})

test('behind a proxy, the address is the one that the proxy names', async () => {
  const served = await serve({ TRUST_PROXY: 'loopback' })

  await guess(served, LIMIT, { 'x-forwarded-for': '203.0.113.7, 192.0.2.1' })

  const headers = { 'x-forwarded-for': '192.0.2.1' }
  expectProblem(await ask(served, tenant.apiKey, headers), 'too-many-invalid-keys')
  expect((await ask(served, tenant.apiKey, { 'x-forwarded-for': '192.0.2.2' })).status).toBe(200)
})

test.each([
  ['an IPv4 address', (port: number) => `192.0.2.1:${port}`, '192.0.2.1', '192.0.2.2:1'],
  [
    'an IPv6 address',
    (port: number) => `[2001:db8::1]:${port}`,
    '2001:db8::2',
    '[2001:db8:9::1]:1',
  ],
  [
    'each address',
    (port: number) => `203.0.113.7:1, 192.0.2.1:${port}, 127.0.0.1:${port}`,
    '192.0.2.1',
    '192.0.2.1:1, 192.0.2.2:1',
  ],
])('a port behind %s is no part of it', async (_what, forwarded, same, other) => {
  const served = await serve({ TRUST_PROXY: 'loopback' })
  for (let made = 0; made < LIMIT; made += 1) {
    await ask(served, makeApiKey(), { 'x-forwarded-for': forwarded(40_000 + made) })
  }
  const from = (address: string) => ask(served, tenant.apiKey, { 'x-forwarded-for': address })

  expectProblem(await from(same), 'too-many-invalid-keys')
  expectProblem(await from(forwarded(1)), 'too-many-invalid-keys')
  expect((await from(other)).status).toBe(200)
})

describe('createInvalidKeysLimit', () => {
  let nowMs = 0
  const create = (limit = 1) => createInvalidKeysLimit({ limit, windowSeconds: 60 }, () => nowMs)
  const attempt = (address: string) => ({ address, apiKey: 'sk_1' })

  beforeEach(() => {
    nowMs = 30_000
  })

  test('frees the address when the window ends', () => {
    const limit = create()
    limit.failed(attempt('192.0.2.1'))

    expect(limit.secondsUntilNext(attempt('192.0.2.1'))).toBe(30)
    nowMs = 60_000
    expect(limit.secondsUntilNext(attempt('192.0.2.1'))).toBeUndefined()
  })

  test.each([
    ['192.0.2.1', '192.0.3.1', '198.51.100.1'],
    ['2001:db8:1::1', '2001:db8:2::1', '2001:db9::1'],
  ])('counts %s among its surroundings beyond 50,000 networks', (address, near, far) => {
    const limit = create(2)
    for (let n = 0; n < 50_000; n += 1) limit.failed(attempt(`10.0.${n >> 8}.${n & 255}`))
    limit.failed(attempt(address))
    limit.failed(attempt(near))

    expect(limit.secondsUntilNext(attempt(address))).toBe(30)
    expect(limit.secondsUntilNext(attempt(near))).toBe(30)
    expect(limit.secondsUntilNext(attempt(far))).toBeUndefined()
  })

  test('is off with 0', () => {
    const limit = create(0)
    limit.failed(attempt('192.0.2.1'))

    expect(limit.secondsUntilNext(attempt('192.0.2.1'))).toBeUndefined()
  })

  test.each([
    ['2001:db8:1:2::1', '2001:DB8:1:2:ffff::9', true],
    ['2001:db8::1', '2001:db8:0:0:1::', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['::1', '::2', true],
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['192.0.2.1', '192.0.2.2', false],
  ])('%s and %s are of one client: %s', (one, other, areOne) => {
    const limit = create()
    limit.failed(attempt(one))

    expect(limit.secondsUntilNext(attempt(other)) !== undefined).toBe(areOne)
  })
})
