// Counts of requests that use a key again, in real API processes, and in one whose memory is small.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { createReplayCounter } from '../../../src/http/keyed/replay-counter.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { pendingOperation, reservationOf, reserve } from '../../db/reservations.ts'
import { paymentBody, post, postPayment, read } from '../../support/client.ts'
import { fetchApi } from '../../support/documented.ts'
import { startService, type OwnService, type Tenant } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const OPERATOR = 'adm_replays_0123456789abcdef0123'

let service: OwnService
let tenant: Tenant

beforeAll(async () => {
  service = await startService({ ADMIN_API_KEY: OPERATOR })
  tenant = await service.createTenant()
})
afterAll(() => service.stop())

/** The counts that operators see of the only operation of a payment. */
async function replaysOf(payment: unknown): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${OPERATOR}` }
  const response = await fetchApi(`${service.apiUrl}/admin/payments/${String(payment)}`, {
    headers,
  })
  const { life } = (await read(response)).json as {
    life: { operations: [{ request_replays: Record<string, unknown> }] }
  }
  return life.operations[0].request_replays
}

const readCounts = ({ tenantId, id }: OperationRef) => service.store.sql`
  select replays::int, conflicts::int, mismatches::int from key_replays
  where tenant_id = ${tenantId} and operation_id = ${id}
`

describe('API processes', () => {
  test('count together the replays of a key, and requests that were refused', async () => {
    const other = await service.startApi()
    const key = randomUUID()
    const { json, status } = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    expect(status).toBe(201)
    const payment = json['id']
    const nothing = { count: 0, conflicts: 0, mismatches: 0, first_at: null, last_at: null }
    expect(await replaysOf(payment)).toEqual(nothing)
    const before = Date.now()

    for (const url of [service.apiUrl, other.url, other.url]) {
      expect((await postPayment(url, tenant, paymentBody(), { key })).status).toBe(201)
    }
    const changed = await postPayment(other.url, tenant, paymentBody({ amount: 1 }), { key })
    expect(changed.status).toBe(422)

    const counted = await until(async () => {
      const replays = await replaysOf(payment)
      return replays['count'] === 3 && replays['mismatches'] === 1 ? replays : undefined
    })
    const { first_at: first, last_at: last } = counted
    expect(counted['conflicts']).toBe(0)
    expect(Date.parse(String(first))).toBeGreaterThanOrEqual(before)
    expect(Date.parse(String(last))).toBeGreaterThanOrEqual(Date.parse(String(first)))
  })

  test('write their last counts when they stop', async () => {
    const { url, process } = await service.startApi({ WAIT_SECONDS: '0' })
    const key = randomUUID()
    service.worker.kill('SIGSTOP')
    const { json } = await postPayment(url, tenant, paymentBody(), { key })
    const again = await postPayment(url, tenant, paymentBody(), { key })
    service.worker.kill('SIGCONT')
    expect(again.status).toBe(409)

    process.kill('SIGTERM')
    await process.exited

    expect(await replaysOf(json['id'])).toMatchObject({ count: 0, conflicts: 1, mismatches: 0 })
  })

  test('count nothing for refused requests without a key of their own', async () => {
    const key = randomUUID()
    const invalid = await post(service.apiUrl, tenant, '/v1/payments', { amount: -1 }, { key })
    expect(invalid.status).toBe(422)
    const { url, process } = await service.startApi()
    await post(url, tenant, '/v1/payments', { amount: -1 }, { key })
    process.kill('SIGTERM')
    await process.exited

    const rows = await service.store.sql`
      select from key_replays join idempotency_keys as stored
        on stored.tenant_id = key_replays.tenant_id and stored.id = key_replays.operation_id
      where stored.key = ${key}
    `
    expect(rows).toEqual([])
  })
})

describe('a process that has counted as many keys as it may', () => {
  const counterOf = (most: number) =>
    createReplayCounter(service.store.sql, pino({ level: 'silent' }), { most })

  test('counts neither further keys of a tenant nor of others, but further requests', async () => {
    const { store } = service
    const makeTwo = () => Promise.all([pendingOperation(store), pendingOperation(store)])
    const [[first, other], [stranger]] = await Promise.all([makeTwo(), makeTwo()])
    const { id } = await reserve(store.sql, reservationOf(first.tenantId))
    const further = { tenantId: first.tenantId, id }
    const counter = counterOf(2)

    for (const ref of [first, further, other, stranger, first]) counter.count(ref, 'replays')
    await counter.stop()

    expect(await readCounts(first)).toEqual([{ replays: 2, conflicts: 0, mismatches: 0 }])
    expect(await readCounts(other)).toEqual([{ replays: 1, conflicts: 0, mismatches: 0 }])
    expect(await readCounts(further)).toEqual([])
    expect(await readCounts(stranger)).toEqual([])
  })

  test('counts again after it has written', async () => {
    const ref = await pendingOperation(service.store)
    const counter = counterOf(1)

    counter.count({ ...ref, id: randomUUID() }, 'replays')
    counter.count(ref, 'replays')
    await counter.stop()
    counter.count(ref, 'mismatches')
    await counter.stop()

    expect(await readCounts(ref)).toEqual([{ replays: 0, conflicts: 0, mismatches: 1 }])
  })

  test('goes on when a write fails', async () => {
    const ref = await pendingOperation(service.store)
    const counter = counterOf(2)

    counter.count({ tenantId: ref.tenantId, id: 'no uuid' }, 'replays')
    await counter.stop()
    counter.count(ref, 'replays')
    await counter.stop()

    expect(await readCounts(ref)).toEqual([{ replays: 1, conflicts: 0, mismatches: 0 }])
  })
})
