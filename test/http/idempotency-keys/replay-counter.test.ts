// Counts of requests that use a key again, in real API processes, and in one whose memory is small.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { createReplayCounter } from '../../../src/http/keyed/replay-counter.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { pendingOperation, reservationOf, reserve } from '../../db/reservations.ts'
import { paymentBody, post, postPayment } from '../../support/client.ts'
import { until } from '../../support/until.ts'
import { service, tenant } from '../../support/shared-service.ts'

/** The counts of the operation with this key. */
async function replaysOf(key: string): Promise<Record<string, unknown> | undefined> {
  const [row] = await service.store.sql`
    select replays::int as count, conflicts::int, mismatches::int,
      extract(epoch from first_at)::float8 * 1000 as first_at,
      extract(epoch from last_at)::float8 * 1000 as last_at
    from key_replays join idempotency_keys as stored
      on stored.tenant_id = key_replays.tenant_id and stored.id = key_replays.operation_id
    where stored.key = ${key}
  `
  return row
}

const readCounts = ({ tenantId, id }: OperationRef) => service.store.sql`
  select replays::int, conflicts::int, mismatches::int from key_replays
  where tenant_id = ${tenantId} and operation_id = ${id}
`

describe('API processes', () => {
  test('count together the replays of a key, and requests that were refused', async () => {
    const other = await service.startApi()
    const key = randomUUID()
    const { status } = await postPayment(service.apiUrl, tenant, paymentBody(), { key })
    expect(status).toBe(201)
    expect(await replaysOf(key)).toBeUndefined()
    const before = Date.now()

    for (const url of [service.apiUrl, other.url, other.url]) {
      expect((await postPayment(url, tenant, paymentBody(), { key })).status).toBe(201)
    }
    const changed = await postPayment(other.url, tenant, paymentBody({ amount: 1 }), { key })
    expect(changed.status).toBe(422)

    const counted = await until(async () => {
      const replays = await replaysOf(key)
      return replays?.['count'] === 3 && replays['mismatches'] === 1 ? replays : undefined
    })

    const [first, last] = [Number(counted['first_at']), Number(counted['last_at'])]
    expect(counted['conflicts']).toBe(0)
    expect(first).toBeGreaterThanOrEqual(before - 1)
    expect(last).toBeGreaterThanOrEqual(first)
  })

  test('write their last counts when they stop', async () => {
    const { url, process } = await service.startApi({ WAIT_SECONDS: '0' })
    const key = randomUUID()
    // The operation is in progress as long as the provider does not answer.
    await service.control('POST', 'faults', { match: {}, fault: 'hang_before', times: 3 })
    await postPayment(url, tenant, paymentBody(), { key })
    const again = await postPayment(url, tenant, paymentBody(), { key })
    await service.control('DELETE', 'faults')
    expect(again.status).toBe(409)

    process.kill('SIGTERM')
    await process.exited

    expect(await replaysOf(key)).toMatchObject({ count: 0, conflicts: 1, mismatches: 0 })
  })

  test('count nothing for refused requests without a key of their own', async () => {
    const key = randomUUID()
    const invalid = await post(service.apiUrl, tenant, '/v1/payments', { amount: -1 }, { key })
    expect(invalid.status).toBe(422)
    const { url, process } = await service.startApi()
    await post(url, tenant, '/v1/payments', { amount: -1 }, { key })
    process.kill('SIGTERM')
    await process.exited

    expect(await replaysOf(key)).toBeUndefined()
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
