// Redis fails in every way while two API processes share it: each key is charged once, every answer is
// the one that PostgreSQL stored, and no failure costs every request a delay.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals'
import { findIdempotencyKey } from '../../../src/db/idempotency/idempotency-keys.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { paymentBody, postPayment, read, type ApiResponse } from '../../../test/support/client.ts'
import { startCuttableRelay } from '../../../test/support/cuttable-relay.ts'
import { fetchApi } from '../../../test/support/documented.ts'
import { expectLedgerBalanced } from '../../../test/support/ledger.ts'
import { startRedis, startReplica, type RedisServer, testWithRedis as test } from './redis.ts'
import { startService, type OwnService, type Tenant } from '../../../test/support/service.ts'
import { until } from '../../../test/support/until.ts'

const ADMIN_API_KEY = 'adm_0123456789abcdef01234567'
const REDIS_TIMEOUT_MS = 500
/** How many of many replays may wait for Redis while it does not answer. */
const WAITING_MAX = 5
/** At each process. */
const REPLAYS = 10
/** How long Redis keeps that a key is in progress, when the process that answers can not replace it. */
const IN_PROGRESS_MS = 1_000

const body = paymentBody()

let service: OwnService
let tenant: Tenant
let urls: string[]
let redis: RedisServer
let address: Awaited<ReturnType<typeof startCuttableRelay>>
let paid: Paid[]

interface Paid {
  readonly key: string
  readonly first: ApiResponse
  readonly answeredAt: number
}

beforeAll(async () => {
  address = await startCuttableRelay(() => redis.port)
  redis = await startRedis()
  service = await startService({
    ADMIN_API_KEY,
    REDIS_URL: `redis://127.0.0.1:${address.port}`,
    REDIS_TIMEOUT_MS: String(REDIS_TIMEOUT_MS),
  })
  const other = await service.startApi()
  urls = [service.apiUrl, other.url]
  tenant = await service.createTenant()
})
beforeEach(async () => {
  paid = []
  await failOverTo(await startRedis())
})
afterEach(async () => {
  await expectTruth()
  await expectLedgerBalanced(service.store)
})
afterAll(async () => {
  await service.stop()
  await address.close()
})

const ask = (url: string, key: string) => postPayment(url, tenant, body, { key })

/**
 * Sends the same request to the processes, several times at once, and then to the first one until it
 * has an answer.
 */
async function pay(at = urls): Promise<Paid> {
  const key = randomUUID()
  await Promise.all([...at, ...at].map((url) => ask(url, key)))
  const first = await until(async () => {
    const answer = await ask(String(at[0]), key)
    return answer.status === 201 && answer
  })
  const one = { key, first, answeredAt: performance.now() }
  paid.push(one)
  return one
}

/** The address leads to another server from now on, and the former one is gone. */
async function failOverTo(next: RedisServer): Promise<void> {
  const former = redis
  redis = next
  await former.kill()
  await untilUsed()
}

/** Until both processes are connected, and Redis takes the copies of a payment. */
async function untilUsed(): Promise<void> {
  await until(async () => {
    const [, clients = ''] =
      /connected_clients:(\d+)/.exec(await redis.client.info('clients')) ?? []
    return Number(clients) > urls.length
  })
  await until(async () => {
    const before = await redis.client.dbSize()
    await pay()
    return (await redis.client.dbSize()) > before
  })
}

/**
 * Replays what was paid at both processes, and returns how many requests may have waited for Redis. What
 * ended a moment ago may still be refused as in progress.
 */
async function replayAll(times = 1): Promise<number> {
  let waiting = 0
  const replay = async (url: string, { key, answeredAt }: Paid) => {
    const startedAt = performance.now()
    const replayed = await ask(url, key)
    if (performance.now() - startedAt >= REDIS_TIMEOUT_MS) waiting += 1
    const isRecent = startedAt < answeredAt + IN_PROGRESS_MS
    return !(isRecent && replayed.status === 409) && replayed
  }
  for (let time = 0; time < times; time += 1) {
    for (const one of paid) {
      for (const url of urls) {
        const replayed = await until(() => replay(url, one))
        expect([replayed.status, replayed.text]).toEqual([201, one.first.text])
      }
    }
  }
  return waiting
}

/** Every answer is the stored one, and every payment was authorized and captured once. */
async function expectTruth(): Promise<void> {
  for (const { key, first } of paid) {
    const stored = await findIdempotencyKey(service.store.sql, tenant.id, key)
    expect(stored?.status).toBe('completed')
    if (stored?.response?.status === 201) expect(first.text).toBe(stored.response.body)
    const executed = await service.executedFor({ id: String(first.json['id']) })
    expect(new Set(executed.map(({ kind }) => kind)).size).toBe(2)
    expect(executed).toHaveLength(2)
  }
}

test('Redis is killed, and starts again empty', async () => {
  await redis.kill()

  const waiting = await replayAll(REPLAYS / paid.length)
  await pay()
  await redis.start()
  await replayAll()
  await untilUsed()

  expect(waiting).toBeLessThanOrEqual(WAITING_MAX)
})

test('a process answers without Redis: others refuse a retry for a second at most', async () => {
  const alone = await service.startApi({ REDIS_URL: 'redis://127.0.0.1:1' })

  await pay([alone.url, ...urls])
  await replayAll()
  await pay([alone.url, ...urls])
  await replayAll()
})

test('Redis is flushed', async () => {
  await redis.client.flushAll()

  await replayAll()
  await pay()
  await replayAll()
})

test('Redis is paused: it costs a moment once, not each request', async () => {
  redis.pause()

  const waiting = await replayAll(REPLAYS / paid.length)
  await pay()
  redis.resume()
  await replayAll()
  await untilUsed()

  expect(waiting).toBeLessThanOrEqual(WAITING_MAX)
})

test('the network to Redis is cut in silence', async () => {
  address.cut()

  const waiting = await replayAll(REPLAYS / paid.length)
  await pay()
  // The silent connections stay silent: they are given up.
  address.acceptNew()
  await untilUsed()
  await replayAll()

  expect(waiting).toBeLessThanOrEqual(WAITING_MAX)
})

test('Redis is full', async () => {
  await redis.client.configSet({ maxmemory: '1', 'maxmemory-policy': 'noeviction' })

  const waiting = await replayAll()
  await pay()
  await replayAll()

  expect(waiting).toBeLessThanOrEqual(WAITING_MAX)
})

test('Redis fails over to a replica that missed writes', async () => {
  const replica = await startReplica(redis)
  replica.missWrites()
  await pay()
  const names = await redis.client.dbSize()

  await Promise.all([redis.kill(), replayAll()])
  await replica.promote()
  expect(await replica.server.client.dbSize()).toBeLessThan(names)
  await failOverTo(replica.server)
  await replayAll()
})

test('an old snapshot of Redis does not bring back a response that was dropped since', async () => {
  const dropped = await pay()
  await replayAll()
  await redis.keepSnapshot()
  const names = await redis.client.dbSize()
  const stored = await findIdempotencyKey(service.store.sql, tenant.id, dropped.key)
  const path = `/admin/idempotency-keys/${showId('op', String(stored?.id))}/response`
  const headers = { authorization: `Bearer ${ADMIN_API_KEY}` }
  const result = await read(
    await fetchApi(`${service.apiUrl}${path}`, { method: 'DELETE', headers }),
  )
  expect(result.status).toBe(204)
  paid.splice(paid.indexOf(dropped), 1)
  await pay()

  await redis.restoreSnapshot()
  expect(await redis.client.dbSize()).toBe(names)

  await untilUsed()
  await replayAll()
  for (const url of urls) expect((await ask(url, dropped.key)).status).toBe(410)
})

test('readiness does not depend on Redis', async () => {
  await redis.kill()

  for (const url of urls) expect((await fetchApi(`${url}/readyz`)).status).toBe(200)
})
