// What clients get over HTTP that say when they first sent a request: one execution, even after the
// key and its tombstone are deleted. Without that time, a late retry is a second execution.
import { randomUUID } from 'node:crypto'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { finishIfOwner } from '../../support/record-phase.ts'
import { claimIfUnowned } from '../../support/claim.ts'
import { deleteOldTombstones } from '../../../src/db/idempotency/key-tombstones.ts'
import { reap, type ReaperSettings } from '../../../src/recovery/reaper.ts'
import { paymentBody, read, type ApiResponse } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { ageTombstones, expireKeys } from '../../support/expired-keys.ts'
import { startLimitedApi, type LimitedApi } from '../../support/limited-api.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

const DAY_SECONDS = 86_400
const SKEW_SECONDS = 300

let api: LimitedApi
let tenant: Tenant

beforeAll(async () => {
  api = await startLimitedApi({ WEBHOOK_ALLOW_INSECURE: 'true' })
})
afterAll(() => api.stop())

const settings: ReaperSettings = {
  KEY_RETENTION_SECONDS: DAY_SECONDS,
  TOMBSTONE_RETENTION_SECONDS: DAY_SECONDS,
  REAP_BATCH_SIZE: 500,
  STORE_TIMEOUT_MS: 5_000,
  IDEMPOTENCY_FLAVOR: 'ietf',
}

const timeAgo = (seconds: number) => new Date(Date.now() - seconds * 1_000).toUTCString()

/** The names of a request that was first sent some time ago. */
const sentAgo = (seconds: number, id: string = randomUUID()) => ({
  'repeatability-request-id': id,
  'repeatability-first-sent': timeAgo(seconds),
})

const countRows = async () =>
  (
    await api.store.sql`
      select from idempotency_keys where tenant_id = ${tenant.id}
      union all select from payments where tenant_id = ${tenant.id}
      union all select from webhook_endpoints where tenant_id = ${tenant.id}
    `
  ).length

const bodies = {
  '/v1/payments': paymentBody(),
  '/v1/webhook-endpoints': { url: 'http://127.0.0.1:9/hooks' },
}
type Path = keyof typeof bodies
const paths = Object.keys(bodies) as Path[]

/** Sends a request under the names in the headers, without any other. */
async function send(
  path: Path,
  headers: Record<string, string>,
  { url = api.url, body = bodies[path] }: { url?: string; body?: object } = {},
): Promise<ApiResponse> {
  const usual = { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers: { ...usual, ...headers }, body: JSON.stringify(body) }
  return await read(await fetchApi(`${url}${path}`, init))
}

/** Completes the operation, lets its key expire, and deletes it with the reaper. */
async function forget(key: string): Promise<void> {
  const { sql } = api.store
  const parts = {
    store: api.store,
    log: pino({ level: 'silent' }),
    provider: { name: 'stripe' } as const,
  }
  const [row] = await sql<{ id: string; status: string }[]>`
    select id, status from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  const ref = { tenantId: tenant.id, id: row?.id ?? '' }
  if (row?.status === 'pending') {
    const claim = await claimIfUnowned(sql, ref, 60_000)
    if (claim === undefined) throw new Error('the operation was not claimed')
    const headers = { 'content-type': 'application/json' }
    await finishIfOwner(sql, claim, { status: 201, headers, body: '{}' }, DAY_SECONDS)
  }
  await expireKeys(sql, ref)
  await reap(parts, settings)
  await ageTombstones(sql)
  await reap(parts, settings)
  expect(await sql`select from idempotency_keys where id = ${ref.id}`).toHaveLength(0)
}

describe.each(paths)('POST %s', (path) => {
  beforeAll(async () => {
    tenant = await api.createTenant()
  })

  test('takes the key from either header, and says that it is accepted', async () => {
    const names = sentAgo(1)
    const key = names['repeatability-request-id']

    const first = await send(path, names)
    const others = [
      await send(path, { ...names, 'idempotency-key': key }),
      await send(path, { 'idempotency-key': key }),
    ]

    expect(first.headers.get('repeatability-result')).toBe('accepted')
    expect(others.map(({ headers }) => headers.get('repeatability-result'))).toEqual([
      'accepted',
      null,
    ])
    for (const { status } of others) expect(status).toBe(path === '/v1/payments' ? 409 : 201)
  })

  test('says that a key of another request is rejected', async () => {
    const names = sentAgo(1)
    await send(path, names)
    const body =
      path === '/v1/payments' ? paymentBody({ amount: 5 }) : { url: 'http://127.0.0.1:9' }

    const other = await send(path, names, { body })

    expectProblem(other, 'idempotency-key-reused')
    expect(other.headers.get('repeatability-result')).toBe('rejected')
  })

  test('without the time, a late retry is executed a second time', async () => {
    const key = randomUUID()
    await send(path, { 'idempotency-key': key })
    await forget(key)
    const before = await countRows()

    const late = await send(path, { 'idempotency-key': key })

    expect(late.status).toBeLessThan(300)
    expect(await countRows()).toBe(before + 2)
  })

  test('with the time, a late retry gets 412, names the earlier resource, and writes nothing', async () => {
    const names = sentAgo(2 * DAY_SECONDS)
    const key = names['repeatability-request-id']
    await send(path, { 'idempotency-key': key })
    await forget(key)
    const before = await countRows()

    const late = await send(path, names)

    expectProblem(late, 'repeatability-first-sent-too-old')
    expect(late.headers.get('repeatability-result')).toBe('rejected')
    expect(late.headers.get('idempotency-key-expired')).not.toBeNull()
    expect(await countRows()).toBe(before)
  })

  test('with the time, a late retry gets 412 after the tombstone is deleted, too', async () => {
    const names = sentAgo(2 * DAY_SECONDS)
    const key = names['repeatability-request-id']
    await send(path, { 'idempotency-key': key })
    await forget(key)
    await deleteOldTombstones(api.store.sql, { retentionSeconds: 0, limit: 1_000 })
    const before = await countRows()

    const late = await send(path, { ...names, 'idempotency-key': key })

    expectProblem(late, 'repeatability-first-sent-too-old')
    expect(await countRows()).toBe(before)
  })

  test('an old time does not matter as long as the key is there', async () => {
    const names = sentAgo(30 * DAY_SECONDS)
    await send(path, { 'idempotency-key': names['repeatability-request-id'] })

    const late = await send(path, names)

    expect(late.status).toBe(path === '/v1/payments' ? 409 : 201)
    expect(late.headers.get('repeatability-result')).toBe('accepted')
  })

  test('after a longer retention was configured, the tombstone refuses the same request', async () => {
    const names = sentAgo(3 * DAY_SECONDS)
    const key = names['repeatability-request-id']
    const week = await api.serve({
      WEBHOOK_ALLOW_INSECURE: 'true',
      KEY_RETENTION_SECONDS: String(7 * DAY_SECONDS),
    })
    await send(path, { 'idempotency-key': key })
    // The key expired two days ago, by the earlier retention.
    await forget(key)
    const before = await countRows()

    expectProblem(await send(path, names, { url: week.url }), 'idempotency-key-expired')
    expect(await countRows()).toBe(before)
  })

  test('a new request under an expired key is executed', async () => {
    const key = randomUUID()
    await send(path, { 'idempotency-key': key })
    await forget(key)

    const again = await send(path, sentAgo(60, key))

    expect(again.status).toBeLessThan(300)
    expect(again.headers.get('idempotency-key-expired')).not.toBeNull()
  })
})

describe('a new request', () => {
  let before: number
  beforeAll(async () => {
    tenant = await api.createTenant()
    before = await countRows()
  })
  afterEach(async () => expect(await countRows()).toBe(before))

  test.each([
    ['old', DAY_SECONDS - SKEW_SECONDS + 10, 'repeatability-first-sent-too-old'],
    ['in the future', -SKEW_SECONDS - 10, 'repeatability-first-sent-in-future'],
  ] as const)('is refused when it is too %s', async (_, seconds, problem) => {
    for (const path of paths) {
      const names = sentAgo(seconds)
      const answer = await send(path, names)
      expectProblem(answer, problem)
      expect(answer.headers.get('repeatability-result')).toBe('rejected')
    }
  })

  test.each([
    [{ 'repeatability-request-id': 'a b' }, 'repeatability-request-id-malformed'],
    [{ 'repeatability-first-sent': 'yesterday' }, 'repeatability-first-sent-malformed'],
    [{ 'repeatability-client-id': 'client' }, 'repeatability-client-id-unsupported'],
    [{ 'idempotency-key': 'another' }, 'repeatability-keys-differ'],
  ] as const)('is refused with the headers %j', async (headers, problem) => {
    expectProblem(await send('/v1/payments', { ...sentAgo(1), ...headers }), problem)
  })

  test('is refused without the time of a Repeatability-Request-ID', async () => {
    const headers = { 'repeatability-request-id': randomUUID() }

    expectProblem(await send('/v1/payments', headers), 'repeatability-first-sent-missing')
  })
})

test('a request is not refused within the limits', async () => {
  tenant = await api.createTenant()
  for (const path of paths) {
    for (const seconds of [DAY_SECONDS - SKEW_SECONDS - 60, 0, 60 - SKEW_SECONDS]) {
      expect((await send(path, sentAgo(seconds))).status).toBeLessThan(300)
    }
  }
})
