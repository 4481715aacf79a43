// The rate limit of a tenant over HTTP, in one process and across processes.
import { describe, expect, test } from '@jest/globals'
import pino from 'pino'
import {
  createRateLimiter,
  type RateLimiter,
  type SharedCount,
} from '../../../src/http/limits/rate-limit.ts'
import { get, postPayment, type ApiResponse } from '../../support/client.ts'
import type { Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { expectProblem } from '../payments.ts'
import { limitedApi } from '../../support/for-file.ts'

const log = pino({ level: 'silent' })
/** The beginning of a one-minute window. */
const START_MS = 1_800_000_000_000

const api = limitedApi({ RATE_LIMIT_WINDOW_SECONDS: '3600', RATE_LIMIT_WRITES: '3' })
interface Limiter {
  count(tenantId: string): ReturnType<RateLimiter['count']>
}

function limiterOf(limit: number, share: SharedCount, now = () => START_MS): Limiter {
  const limiter = createRateLimiter(60, share, log, now)
  return { count: (tenantId) => limiter.count(tenantId, 'writes', limit) }
}

/** Sends requests in a row; returns how many are within the limit. */
function countAllowed(limiter: Limiter, tenantId: string, requests: number): number {
  const providerStatuses = Array.from({ length: requests }, () => limiter.count(tenantId))
  return providerStatuses.filter((providerStatus) => providerStatus?.exceeded === false).length
}

describe('over HTTP', () => {
  test('a tenant beyond its limit gets 429 with a Retry-After, and nothing is written', async () => {
    const tenant = await api.createTenant()
    const answers = []
    for (const key of ['1', '2', '3', '4']) {
      answers.push(await postPayment(api.url, tenant, undefined, { key }))
    }

    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 429])
    const [first, , , last] = answers
    expect(first?.headers.get('ratelimit-policy')).toBe('"writes";q=3;w=3600')
    expect(first?.headers.get('ratelimit')).toMatch(/^"writes";r=2;t=\d+$/)
    expect(last?.json).toMatchObject({ type: '/problems/rate-limited' })
    expect(last?.headers.get('ratelimit')).toMatch(/^"writes";r=0;t=\d+$/)
    const reset = Number(/t=(\d+)/.exec(last?.headers.get('ratelimit') ?? '')?.[1])
    const later = Number(last?.headers.get('retry-after'))
    expect(later).toBeGreaterThanOrEqual(reset)
    expect(later).toBeLessThanOrEqual(reset + Math.min(60, Math.max(1, reset / 10)))
    const rows = await api.store.sql`
      select from idempotency_keys where tenant_id = ${tenant.id} and key = '4'
    `
    expect(rows).toHaveLength(0)
  })

  test('the limits of tenants, and of reads and writes, are separate', async () => {
    const [busy, other] = [await api.createTenant(), await api.createTenant()]
    for (const key of ['1', '2', '3']) await postPayment(api.url, busy, undefined, { key })

    expect((await postPayment(api.url, busy)).status).toBe(429)
    expect((await postPayment(api.url, other)).status).toBe(202)
    expect((await get(api.url, busy, '/v1/payments')).status).toBe(200)
  })

  test('reads are limited, too', async () => {
    const { url } = await api.serve({ RATE_LIMIT_READS: '1', RATE_LIMIT_WINDOW_SECONDS: '3600' })
    const tenant = await api.createTenant()
    const path = '/v1/payments'

    expect((await get(url, tenant, path)).status).toBe(200)
    expect(await get(url, tenant, path)).toMatchObject({
      status: 429,
      json: { type: '/problems/rate-limited' },
    })
  })

  test('keys that are guessed at the lookup are limited, and a right guess says no more than a wrong one', async () => {
    const { url } = await api.serve({ RATE_LIMIT_READS: '3', RATE_LIMIT_WINDOW_SECONDS: '3600' })
    const tenant = await api.createTenant()
    await postPayment(url, tenant, undefined, { key: 'right' })
    const guess = (key: string) => get(url, tenant, `/v1/idempotency-keys/${key}`)

    const within = [await guess('wrong-1'), await guess('wrong-2'), await guess('right')]
    const beyond = [await guess('right'), await guess('wrong-3')]

    expect(within.map(({ status }) => status)).toEqual([404, 404, 200])
    for (const answer of beyond) expectProblem(answer, 'rate-limited')
    expect(beyond[0]?.text).toBe(beyond[1]?.text)
  })

  test('requests to other processes count', async () => {
    const settings = { RATE_LIMIT_WINDOW_SECONDS: '3600', RATE_LIMIT_WRITES: '3' }
    const { url } = await api.serve(settings)
    const tenant = await api.createTenant()
    for (const key of ['1', '2', '3']) await postPayment(url, tenant, undefined, { key })
    await untilShared(tenant.id, 3)

    // This process allows the first, because it does not know the shared count yet. Sharing its own
    // count returns it.
    const first = await postPayment(api.url, tenant)
    await untilShared(tenant.id, 4)
    const second = await untilRefused(tenant)

    expect(first.status).toBe(202)
    expect(second.json).toMatchObject({ type: '/problems/rate-limited' })
  })
})

async function untilShared(tenantId: string, points: number): Promise<void> {
  for (;;) {
    const [row] = await api.store.sql<{ points: number }[]>`
      select points from rate_limits where key = ${`writes:${tenantId}`}
    `
    if (row?.points === points) return
  }
}

/** The count is stored before this process knows the sum, so one more request may be allowed. */
async function untilRefused(tenant: Tenant): Promise<ApiResponse> {
  const first = await postPayment(api.url, tenant)
  return first.status === 429 ? first : await postPayment(api.url, tenant)
}

describe('a limiter', () => {
  const none: SharedCount = (_name, points) => Promise.resolve(points)

  test('never allows more than the limit in one process', () => {
    expect(countAllowed(limiterOf(100, none), 'a', 500)).toBe(100)
  })

  test('starts again with each window', () => {
    let nowMs = START_MS
    const limiter = limiterOf(10, none, () => nowMs)
    expect(countAllowed(limiter, 'a', 20)).toBe(10)
    nowMs += 59_999
    expect(countAllowed(limiter, 'a', 1)).toBe(0)
    nowMs += 1
    expect(countAllowed(limiter, 'a', 20)).toBe(10)
  })

  test('shares its count after each twentieth of the limit, and never waits for it', async () => {
    const blocks: number[] = []
    let total = 0
    const limiter = limiterOf(1_000, async (_name, points) => {
      blocks.push(points)
      total += points
      return total
    })
    for (let request = 0; request < 1_000; request += 1) {
      expect(limiter.count('a')?.exceeded).toBe(false)
      await Promise.resolve()
      await Promise.resolve()
      await Promise.resolve()
    }

    expect(blocks).toEqual(Array.from({ length: 20 }, () => 50))
  })

  test('shares what it counted while the store was slow, without a further request', async () => {
    const blocks: number[] = []
    const slow = Promise.withResolvers<number>()
    const limiter = limiterOf(3, (_name, points) => {
      blocks.push(points)
      return blocks.length === 1 ? slow.promise : Promise.resolve(3)
    })
    expect(countAllowed(limiter, 'a', 3)).toBe(3)

    slow.resolve(1)
    await until(() => blocks.length > 1)

    expect(blocks).toEqual([1, 2])
  })

  test('enforces the limit by itself while the store does not answer', async () => {
    const limiter = limiterOf(100, () => Promise.reject(new Error('out of reach')))
    let allowed = 0
    for (let request = 0; request < 300; request += 1) {
      if (limiter.count('a')?.exceeded === false) allowed += 1
      await Promise.resolve()
    }

    expect(allowed).toBe(100)
  })

  test('does not exist with the setting 0', () => {
    expect(limiterOf(0, none).count('a')).toBeUndefined()
  })
})
