// A replay comes from a copy of the answer, in memory or in Redis, exactly as long as the database would
// answer the same. To tell a copy from the database, the stored response is changed there by hand.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { eraseCustomer } from '../../../src/start/tenants/erase-customer.ts'
import { revokeKeyIfNotRevoked } from '../../../src/db/tenants/api-keys.ts'
import { createTenant } from '../../../src/db/tenants/tenants.ts'
import { showId } from '../../../src/domain/resource-id.ts'
import { runOperation } from '../../../src/engine/run-phases.ts'
import { paymentBody, postPayment, type ApiResponse } from '../../../test/support/client.ts'
import { findProgram } from '../../../test/support/find-program.ts'
import { startRedis, testWithRedis, type RedisServer } from './redis.ts'
import type { Tenant } from '../../../test/support/service.ts'
import { until } from '../../../test/support/until.ts'
import { expectProblem } from '../../../test/http/payments.ts'
import { adminApi } from '../../../test/support/for-file.ts'

const CUSTOMER = 'cus_copied'
/** The description in the database, but not in the copy. */
const CHANGED = 'changed by hand'

const api = adminApi()
let redis: RedisServer
/** Each layer, with two API processes that use it. */
const urls: Record<'memory' | 'redis', [string, string]> = { memory: ['', ''], redis: ['', ''] }

beforeAll(async () => {
  const serve = (settings: Record<string, string>) =>
    api.serve({ WAIT_MAX_SECONDS: '20', REDIS_TIMEOUT_MS: '1000', ...settings })
  const inMemory = () => serve({ ANSWER_CACHE_SECONDS: '600' })
  urls.memory = [await inMemory(), await inMemory()]
  // Without a server the tests that need one are skipped.
  if (findProgram('redis-server') === undefined) return
  redis = await startRedis()
  const inRedis = () => serve({ REDIS_URL: redis.url })
  urls.redis = [await inRedis(), await inRedis()]
})

const body = paymentBody()

async function makeTenant(): Promise<Tenant> {
  const apiKey = `sk_test_${randomUUID().replaceAll('-', '')}`
  return { apiKey, id: await createTenant(api.t.engine.store, { name: 'test', apiKey }) }
}

interface Copied {
  readonly tenant: Tenant
  readonly key: string
  /** The stored response. */
  readonly first: ApiResponse
  readonly ref: { tenantId: string; id: string }
}

/** Completes a payment, and asks the API until it has a copy. The database has another text then. */
async function makeCopy(url: string, own?: Tenant): Promise<Copied> {
  const tenant = own ?? (await makeTenant())
  const key = randomUUID()
  await postPayment(api.url, tenant, body, { key })
  const ref = await findRef(key)
  await runOperation(api.t.engine, ref)
  const first = await postPayment(api.url, tenant, body, { key })
  await until(async () => {
    await write(ref.id, first.text)
    await postPayment(url, tenant, body, { key })
    await write(ref.id, JSON.stringify({ ...first.json, description: CHANGED }))
    return (await postPayment(url, tenant, body, { key })).text === first.text
  })
  return { tenant, key, first, ref }
}

async function findRef(key: string): Promise<{ tenantId: string; id: string }> {
  const [ref] = await api.t.engine.store.sql<{ tenantId: string; id: string }[]>`
    select tenant_id as "tenantId", id from idempotency_keys where key = ${key}
  `
  if (ref === undefined) throw new Error('the key is not there')
  return ref
}

/** A plain body is accepted as one of an earlier version. */
async function write(id: string, text: string): Promise<void> {
  await api.t.engine.store.sql`update idempotency_keys set response_body = ${text} where id = ${id}`
}

const withoutTimes = (response: ApiResponse) =>
  [...response.headers].filter(([name]) => !/^(date|request-id|ratelimit.*)$/.test(name))

describe.each([
  { layer: 'memory', testWithLayer: test },
  { layer: 'redis', testWithLayer: testWithRedis },
] as const)('in $layer', ({ layer, testWithLayer }) => {
  testWithLayer('a replay equals the replay of the database, in its headers too', async () => {
    const { tenant, key, first } = await makeCopy(urls[layer][0])

    const replayed = await postPayment(urls[layer][0], tenant, body, { key })

    expect(replayed.status).toBe(201)
    expect(replayed.text).toBe(first.text)
    expect(withoutTimes(replayed)).toEqual(withoutTimes(first))
    expect(replayed.headers.get('idempotent-replayed')).toBe('true')
  })

  testWithLayer('a dropped response is not replayed by any process, nor kept again', async () => {
    const { tenant, key, ref } = await makeCopy(urls[layer][0])
    const ask = (url: string) => postPayment(url, tenant, body, { key })
    await Promise.all(urls[layer].map(ask))

    const dropped = await api.remove(`/admin/idempotency-keys/${showId('op', ref.id)}/response`)

    expect(dropped.status).toBe(204)
    for (const url of urls[layer]) {
      await until(async () => (await ask(url)).status === 410)
      expectProblem(await ask(url), 'response-dropped')
    }
  })

  testWithLayer('the response about an erased customer is not replayed', async () => {
    const { tenant, key, ref } = await makeCopy(urls[layer][0])
    const { sql } = api.t.engine.store
    await sql`update payments set customer = ${CUSTOMER} where tenant_id = ${ref.tenantId}`

    const named = { tenantId: ref.tenantId, provider: 'stripe', customer: CUSTOMER }
    await inTransaction(sql, (tx) => eraseCustomer(tx, named, 'ietf'))

    for (const url of urls[layer]) {
      await until(async () => (await postPayment(url, tenant, body, { key })).status === 410)
    }
  })

  testWithLayer('another request under the key is refused', async () => {
    const { tenant, key } = await makeCopy(urls[layer][0])

    const other = await postPayment(urls[layer][0], tenant, paymentBody({ amount: 1 }), { key })

    expectProblem(other, 'idempotency-key-reused')
  })

  testWithLayer('another tenant under the same key makes its own payment', async () => {
    const { key, first } = await makeCopy(urls[layer][0])

    const other = await postPayment(urls[layer][0], await makeTenant(), body, { key })

    expect(other.status).toBe(202)
    expect(other.json['id']).not.toBe(first.json['id'])
  })

  testWithLayer('a revoked API key gets no copy', async () => {
    const { tenant, key } = await makeCopy(urls[layer][0])
    const { sql } = api.t.engine.store
    const [apiKey] = await sql<{ id: string }[]>`
      select id from api_keys where tenant_id = ${tenant.id}
    `

    await inTransaction(sql, (tx) => revokeKeyIfNotRevoked(tx, String(apiKey?.id)))

    for (const url of urls[layer]) {
      await until(async () => (await postPayment(url, tenant, body, { key })).status === 401)
    }
  })
})

testWithRedis('an answer that one process has kept in Redis is replayed by another', async () => {
  const { tenant, key, first } = await makeCopy(urls.redis[0])

  const replayed = await postPayment(urls.redis[1], tenant, body, { key })

  expect(replayed.text).toBe(first.text)
})

test('an answer in the memory of one process is not replayed by another', async () => {
  const { tenant, key } = await makeCopy(urls.memory[0])

  const replayed = await postPayment(urls.memory[1], tenant, body, { key })

  expect(replayed.json['description']).toBe(CHANGED)
})

testWithRedis('what was copied in an earlier epoch is not found again', async () => {
  const { tenant, key } = await makeCopy(urls.redis[0])
  const other = await makeCopy(urls.redis[0])
  const path = `/admin/idempotency-keys/${showId('op', other.ref.id)}/response`

  await api.remove(path)

  await until(
    async () =>
      (await postPayment(urls.redis[0], tenant, body, { key })).json['description'] === CHANGED,
  )
  // Also when the process knows the new epoch.
  const again = await postPayment(urls.redis[0], tenant, body, { key })
  expect(again.json['description']).toBe(CHANGED)
})

testWithRedis('Redis holds nothing that can be read without the encryption keys', async () => {
  const { tenant, key, first } = await makeCopy(urls.redis[0])

  const names = await redis.client.keys('*')
  const values = await Promise.all(names.map((name) => redis.client.get(name)))

  expect(names.length).toBeGreaterThan(0)
  for (const part of [key, tenant.id, String(first.json['id']), 'amount']) {
    expect([...names, ...values].join('\n')).not.toContain(part)
  }
})

testWithRedis('a forged answer is not replayed', async () => {
  const { tenant, key } = await makeCopy(urls.redis[0])
  const forged = JSON.stringify({ untilMs: Date.now() + 60_000, key: { status: 'completed' } })
  for (const name of await redis.client.keys('*')) await redis.client.set(name, forged)

  const replayed = await postPayment(urls.redis[0], tenant, body, { key })

  expect(replayed.json['description']).toBe(CHANGED)
})

describe('while the operation is in progress', () => {
  testWithRedis(
    'a duplicate at another process is refused, and gets the answer a moment later',
    async () => {
      const tenant = await makeTenant()
      const key = randomUUID()
      await postPayment(urls.redis[0], tenant, body, { key, headers: { prefer: 'respond-async' } })
      const duplicate = await postPayment(urls.redis[1], tenant, body, { key })
      const ref = await findRef(key)

      await runOperation(api.t.engine, ref)

      expectProblem(duplicate, 'operation-in-progress')
      await until(
        async () => (await postPayment(urls.redis[1], tenant, body, { key })).status === 201,
      )
    },
  )

  testWithRedis('a duplicate that waits gets the answer', async () => {
    const tenant = await makeTenant()
    const key = randomUUID()
    await postPayment(urls.redis[0], tenant, body, { key, headers: { prefer: 'respond-async' } })
    const waiting = postPayment(urls.redis[1], tenant, body, {
      key,
      headers: { prefer: 'wait=20' },
    })

    const ref = await findRef(key)

    await runOperation(api.t.engine, ref)

    expect((await waiting).status).toBe(201)
  })
})
