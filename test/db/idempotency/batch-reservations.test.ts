// Tests that reservations in one statement have an outcome each: reserved, used, refused, expired.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import {
  batchLookUps,
  batchReservations,
  DuplicateReferenceError,
  IntentRefusedError,
} from '../../../src/db/idempotency/intents.ts'
import { noResource, type Intent } from '../../../src/db/idempotency/intent.ts'
import { KeyExpiredError } from '../../../src/db/idempotency/idempotency-keys.ts'
import { detailsOfPayment, insertPayments } from '../../../src/db/payments/payments.ts'
import { openServiceStore } from '../../support/service-store.ts'
import {
  countJobs,
  countRows,
  makeTenant,
  request,
  reservationOf,
  reserve,
} from '../reservations.ts'
import { watchBatches, type WatchedBatches } from '../watch-batches.ts'
import { database, store as owner } from '../../support/own-store.ts'

const PAYMENT = { ...request, metadata: { order: '1' } }

/** With the role of the service, so that row-level security applies. */
let store: Store
let tenantId: string
let otherId: string
let batches: WatchedBatches

beforeAll(async () => {
  store = openServiceStore(database.url)
})
beforeEach(async () => {
  tenantId = await makeTenant(owner)
  otherId = await makeTenant(owner)
  batches = watchBatches(store.sql)
})
afterAll(() => store.close())

function paymentOf(tenant: string, fields: Partial<Intent> = {}, customer?: string): Intent {
  const details = detailsOfPayment({ ...PAYMENT, customer: customer ?? null }, 'stripe')
  return reservationOf(tenant, { details, ...fields })
}

/** Reserves in one turn of the event loop. */
function reserveTogether(intents: readonly Intent[]) {
  const sql = batches.sql
  const reserveOne = batchReservations()
  return Promise.allSettled(intents.map((intent) => reserveOne(sql, intent, insertPayments)))
}

test('requests of one tenant share a statement, and tenants do not', async () => {
  const intents = [paymentOf(tenantId), paymentOf(otherId), paymentOf(tenantId)]

  const results = await reserveTogether(intents)

  expect(new Set(batches.sizes)).toEqual(new Set([1, 2]))
  expect(results).toMatchObject(intents.map(({ id }) => ({ value: { key: { id } } })))
})

test('each reservation has its payment, its event with its key, its first line and its job', async () => {
  const intents = [paymentOf(tenantId, { traceparent: '00-1-1-01' }), paymentOf(tenantId)]
  await reserveTogether(intents)

  for (const { id, key, paymentId, traceparent = null } of intents) {
    const [row] = await owner.sql`
      select
        (select metadata ->> 'order' from payments where id = ${paymentId}) as order,
        (select idempotency_key from events where payment_id = ${paymentId}) as key,
        (select object ->> 'id' from events where payment_id = ${paymentId}) as shown,
        (select reached from phase_runs where operation_id = ${id}) as reached,
        (select data ->> 'traceparent' from atomic_jobs.job where data ->> 'operationId' = ${id}) as trace
    `
    expect(row).toEqual({
      order: '1',
      key,
      shown: paymentId,
      reached: 'started',
      trace: traceparent,
    })
    expect(await countJobs(owner.sql, id)).toBe(1)
  }
})

const withReference = (reference: string, tenant = tenantId) =>
  reservationOf(tenant, { details: detailsOfPayment({ ...PAYMENT, reference }, 'stripe') })

describe('a reference', () => {
  test('that is in use refuses the intent, and leaves nothing behind', async () => {
    const [first, second] = [withReference('order-1'), withReference('order-1')]
    await reserveTogether([first])
    const [result] = await reserveTogether([second])

    expect(result).toMatchObject({ reason: expect.any(DuplicateReferenceError) })
    expect(await countRows(owner.sql, 'payments', tenantId)).toBe(1)
    expect(await countRows(owner.sql, 'idempotency_keys', tenantId)).toBe(1)
    expect(await countJobs(owner.sql, second.id)).toBe(0)
  })

  test('of several members goes to one of them, and the others are reserved', async () => {
    const intents = [
      withReference('order-1'),
      withReference('order-2'),
      withReference('order-1'),
      withReference('order-1', otherId),
      paymentOf(tenantId),
    ]
    const results = await reserveTogether(intents)

    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused).toMatchObject([{ reason: expect.any(DuplicateReferenceError) }])
    expect(results.indexOf(refused[0] as (typeof results)[number]) % 2).toBe(0)
    expect(await countRows(owner.sql, 'payments', tenantId)).toBe(3)
    expect(await countRows(owner.sql, 'payments', otherId)).toBe(1)
  })
})

describe('one member', () => {
  test('with a used key gets the row of its operation, and writes nothing', async () => {
    const used = paymentOf(tenantId)
    await reserveTogether([used])
    const again = paymentOf(tenantId, { key: used.key })
    const free = paymentOf(tenantId)

    const [first, second] = await reserveTogether([again, free])

    expect(first).toMatchObject({ value: { key: { id: used.id }, resource: null } })
    expect(second).toMatchObject({ value: { key: { id: free.id } } })
    expect(await countRows(owner.sql, 'payments', tenantId)).toBe(2)
  })

  test('with the key of another tenant gets a key of its own', async () => {
    const intents = [
      paymentOf(tenantId, { key: 'order-1' }),
      paymentOf(otherId, { key: 'order-1' }),
    ]

    const results = await reserveTogether(intents)

    expect(results).toMatchObject(intents.map(({ id }) => ({ value: { key: { id } } })))
  })

  test('with the customer of another tenant is refused, and the others are reserved', async () => {
    await owner.sql`
      insert into provider_customers (tenant_id, provider, id)
      values (${tenantId}, 'stripe', 'cus_1')
    `
    const intents = [
      paymentOf(tenantId, {}, 'cus_1'),
      paymentOf(otherId, {}, 'cus_1'),
      paymentOf(otherId),
    ]

    const [own, foreign, without] = await reserveTogether(intents)

    expect(new Set(batches.sizes)).toEqual(new Set([1, 2]))
    expect(own).toMatchObject({ status: 'fulfilled', value: { resource: { customer: 'cus_1' } } })
    expect(foreign).toMatchObject({ status: 'rejected', reason: expect.any(IntentRefusedError) })
    expect(without).toMatchObject({ status: 'fulfilled' })
    expect(await countRows(owner.sql, 'idempotency_keys', otherId)).toBe(1)
  })

  test('with an expired key is told so, and the others are reserved', async () => {
    await owner.sql`
      insert into key_tombstones (tenant_id, key_hash, expired_at)
      values (${tenantId}, sha256(convert_to('order-1', 'UTF8')), now())
    `
    const intents = [
      paymentOf(tenantId, { key: 'order-1', expiredKeys: 'gone' }),
      paymentOf(tenantId, { key: 'order-2', expiredKeys: 'gone' }),
    ]

    const [expired, other] = await reserveTogether(intents)

    expect(expired).toMatchObject({ status: 'rejected', reason: expect.any(KeyExpiredError) })
    expect(other).toMatchObject({ status: 'fulfilled', value: { key: { earlier: null } } })
  })

  test('that a constraint refuses fails alone', async () => {
    const details = { ...detailsOfPayment(PAYMENT, 'stripe'), amount_minor: 0 }
    const intents = [paymentOf(tenantId), paymentOf(tenantId, { details }), paymentOf(tenantId)]

    const results = await reserveTogether(intents)

    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(batches.sizes).toEqual([3, 1, 1, 1])
    expect(await countRows(owner.sql, 'payments', tenantId)).toBe(2)
  })
})

test('after a lost acknowledgment each member finds its own row, and nothing is written twice', async () => {
  const intents = [paymentOf(tenantId), paymentOf(tenantId)]
  batches.loseAcknowledgment()

  const results = await reserveTogether(intents)

  expect(batches.sizes).toEqual([2, 1, 1])
  expect(results).toMatchObject(intents.map(({ id }) => ({ value: { key: { id } } })))
  expect(await countRows(owner.sql, 'payments', tenantId)).toBe(2)
  for (const { id } of intents) expect(await countJobs(owner.sql, id)).toBe(1)
})

test('intents that are all refused are refused singly, unless their key is used', async () => {
  const used = paymentOf(tenantId)
  await reserve(store.sql, used)
  const sql = batches.sql
  const reserveOne = batchReservations()
  const intents = [paymentOf(tenantId), paymentOf(tenantId, { key: used.key })]

  const [free, replayed] = await Promise.allSettled(
    intents.map((intent) => reserveOne(sql, intent, noResource)),
  )

  expect(free).toMatchObject({ status: 'rejected', reason: expect.any(IntentRefusedError) })
  expect(replayed).toMatchObject({ value: { key: { id: used.id } } })
})

test('many keys of several tenants, some used twice, get one operation each', async () => {
  const keys = Array.from({ length: 40 }, (_, index) => `order-${index % 25}`)
  const intents = keys.map((key, index) => paymentOf(index % 2 === 0 ? tenantId : otherId, { key }))
  const sql = batches.sql
  // As two API processes would.
  const processes = [batchReservations(), batchReservations()] as const

  const reserved = await Promise.all(
    intents.map((intent, index) => processes[index < 20 ? 0 : 1](sql, intent, insertPayments)),
  )

  const names = new Set(intents.map(({ tenantId: tenant, key }) => `${tenant} ${key}`))
  expect(new Set(reserved.map(({ key }) => `${key.tenantId} ${key.key}`))).toEqual(names)
  expect(new Set(reserved.map(({ key }) => key.id)).size).toBe(names.size)
  const payments = await countRows(owner.sql, 'payments', tenantId)
  expect(payments + (await countRows(owner.sql, 'payments', otherId))).toBe(names.size)
})

test('lookups at once each find only the key of their tenant', async () => {
  const key = randomUUID()
  const own = await reserve(store.sql, paymentOf(tenantId, { key }))
  const find = batchLookUps()

  const found = await Promise.all([
    find(store.sql, { tenantId, key }),
    find(store.sql, { tenantId: otherId, key }),
    find(store.sql, { tenantId, key: randomBytes(8).toString('hex') }),
    find(store.sql, { tenantId, key }),
  ])

  expect(found).toEqual([own, undefined, undefined, own])
})
