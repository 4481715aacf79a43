// What requests get that say when they were first sent, and until when their keys are kept.
import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { deleteOldTombstones } from '../../../src/recovery/reaper.ts'
import { claimOrThrow } from '../../db/reservations.ts'
import { type ApiResponse, paymentBody, post, read, remove } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { expireKey } from '../../support/expired-keys.ts'
import { limitedApi } from '../../support/for-file.ts'
import { finishIfOwner } from '../../support/record-phase.ts'
import type { Tenant } from '../../support/service.ts'
import { expectProblem } from '../payments.ts'

const DAY_SECONDS = 86_400
const SKEW_SECONDS = 300

const INSECURE = { WEBHOOK_ALLOW_INSECURE: 'true' }
const api = limitedApi(INSECURE)
let tenant: Tenant

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
  const [row] = await api.store.sql<{ id: string; status: string }[]>`
    select id, status from idempotency_keys where tenant_id = ${tenant.id} and key = ${key}
  `
  if (row?.status === 'pending') {
    const claim = await claimOrThrow(api.store.sql, { tenantId: tenant.id, id: row.id })
    const headers = { 'content-type': 'application/json' }
    await finishIfOwner(api.store.sql, claim, { status: 201, headers, body: '{}' }, DAY_SECONDS)
  }
  await expireKey(api.store, tenant.id, key)
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
    const week = await api.serve({ ...INSECURE, KEY_RETENTION_SECONDS: String(7 * DAY_SECONDS) })
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
})

test('a request is not refused within the limits', async () => {
  tenant = await api.createTenant()
  for (const path of paths) {
    for (const seconds of [DAY_SECONDS - SKEW_SECONDS - 60, 0, 60 - SKEW_SECONDS]) {
      expect((await send(path, sentAgo(seconds))).status).toBeLessThan(300)
    }
  }
})

describe('with retentions of operations', () => {
  const WEEK = 7 * DAY_SECONDS
  const MONTH = 30 * DAY_SECONDS
  const ENDPOINTS = '/v1/webhook-endpoints'

  let longUrl: string
  beforeAll(async () => {
    tenant = await api.createTenant()
    const KEY_RETENTION_SECONDS_BY_OPERATION = `payment.create=${WEEK},webhook_endpoint.delete=${MONTH}`
    longUrl = (await api.serve({ ...INSECURE, KEY_RETENTION_SECONDS_BY_OPERATION })).url
  })

  const sendOf = (path: Path, seconds: number) =>
    send(
      path,
      { 'idempotency-key': randomUUID(), 'repeatability-first-sent': timeAgo(seconds) },
      { url: longUrl },
    )

  function expectKept(until: unknown, seconds: number): void {
    const ahead = (new Date(String(until)).getTime() - Date.now()) / 1_000
    expect(Math.abs(ahead - seconds)).toBeLessThan(60)
  }

  test.each([
    ['/v1/payments', WEEK],
    [ENDPOINTS, DAY_SECONDS],
  ] as const)(
    'a key of POST %s is kept for %s s, and a request may be executed until it is that old',
    async (path, seconds) => {
      const fresh = await sendOf(path, 0)
      const younger = await sendOf(path, seconds - SKEW_SECONDS - 60)
      const older = await sendOf(path, seconds - SKEW_SECONDS + 60)

      for (const { status } of [fresh, younger]) expect(status).toBeLessThan(300)
      expectKept(fresh.headers.get('idempotency-key-expires'), seconds)
      expectProblem(older, 'repeatability-first-sent-too-old')
    },
  )

  test('a key of a local operation is kept as long as its operation says', async () => {
    const { json } = await sendOf(ENDPOINTS, 0)

    const removed = await remove(longUrl, tenant, `${ENDPOINTS}/${String(json['id'])}`)

    expect(removed.json).toMatchObject({ deleted: true })
    expectKept(removed.headers.get('idempotency-key-expires'), MONTH)
  })

  const cancel = (key: string) => post(longUrl, tenant, `/v1/idempotency-keys/${key}/cancel`)

  test('a key that is canceled before its use is kept for the longest retention', async () => {
    const { json } = await cancel(randomUUID())

    expect(json).toMatchObject({ operation: 'idempotency_key.cancel', cancellation: 'prevented' })
    expectKept(json['expires_at'], MONTH)
  })

  test('a key whose operation is to be undone is kept for a retention of it from then on', async () => {
    const key = randomUUID()
    const { status } = await post(longUrl, tenant, '/v1/payments', paymentBody(), { key })
    expect(status).toBe(202)
    await api.store.sql`
    update idempotency_keys set expires_at = now(), in_doubt = true where key = ${key}
  `

    const { json } = await cancel(key)

    expect(json).toMatchObject({ cancellation: 'in_progress' })
    expectKept(json['expires_at'], WEEK)
  })

  test('the policy states them', async () => {
    const policy = await read(await fetchApi(`${longUrl}/.well-known/idempotency-policy`))

    expect(policy.json).toMatchObject({
      retention_seconds: DAY_SECONDS,
      retention_seconds_by_operation: { 'payment.create': WEEK, 'webhook_endpoint.delete': MONTH },
      first_sent: {
        max_age_seconds: DAY_SECONDS - SKEW_SECONDS,
        max_age_seconds_by_operation: {
          'payment.create': WEEK - SKEW_SECONDS,
          'webhook_endpoint.delete': MONTH - SKEW_SECONDS,
        },
      },
    })
  })

  test('an API with a retention for an operation that does not exist does not start', async () => {
    const KEY_RETENTION_SECONDS_BY_OPERATION = `payment.refund=${WEEK}`

    await expect(api.serve({ KEY_RETENTION_SECONDS_BY_OPERATION })).rejects.toThrow(
      'KEY_RETENTION_SECONDS_BY_OPERATION names an unknown operation; there are payment.create, ',
    )
  })
})
