// Tests the statements of the reaper on a real database: what they delete and what they never
// touch, how they race with a late retry, and that they are cheap on a large table.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Sql, Store, Transaction } from '../../src/db/connection/client.ts'
import {
  completeIfOvertaken,
  deleteExpiredKeys,
  reportAbandoned,
  timeOutIfAbandoned,
  deleteOldTombstones,
} from '../../src/recovery/reaper.ts'
import { findTombstone, reopenIfFailed } from '../../src/db/idempotency/idempotency-keys.ts'
import { reserveKeys } from '../../src/db/idempotency/reserve-keys.ts'
import { doOnce } from '../../src/http/keyed/keyed-locally.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'
import { problemResponse } from '../../src/domain/operations/stored-response.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { explain } from '../support/explain.ts'
import { ageTombstones, expireKeys } from '../support/expired-keys.ts'
import {
  claimedOperation,
  claimOrThrow,
  failed,
  finish,
  giveBack,
  makeTenant,
  openTestStore,
  pendingOperation,
  readRow,
  reservationOf,
  reserve,
  response,
  RETENTION_SECONDS,
  secondsAhead,
  unknown,
} from '../db/reservations.ts'
import { until } from '../support/until.ts'

const kept = { limit: 100, retention: { KEY_RETENTION_SECONDS: RETENTION_SECONDS } }
const timeout = problemResponse('ietf', 'operation-timed-out')

let database: TestDatabase
let store: Store
let sql: Sql

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url, 8)
  sql = store.sql
})
beforeEach(async () => {
  await sql`delete from idempotency_keys`
  await sql`delete from key_tombstones`
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

async function completedOperation(key: string = randomUUID(), tenantId?: string) {
  const reservation = reservationOf(tenantId ?? (await makeTenant(store)), { key })
  const { id, paymentId } = await reserve(sql, reservation)
  const ref = { tenantId: reservation.tenantId, id }
  await finish(store, await claimOrThrow(sql, ref))
  return { ...ref, key, paymentId }
}

async function expiredOperation(key?: string, tenantId?: string) {
  const ref = await completedOperation(key, tenantId)
  await expireKeys(sql, ref)
  return ref
}

/** A completed local operation, with the location of its response. */
async function localOperation(location: string | null) {
  const tenantId = await makeTenant(store)
  const reservation = {
    tenantId,
    id: randomUUID(),
    key: randomUUID(),
    fingerprint: randomBytes(32),
    operation: 'webhook_endpoint.create',
    retentionSeconds: RETENTION_SECONDS,
    expiredKeys: 'new',
  } as const
  const headers = location === null ? {} : { location }
  const key = await doOnce(sql, reservation, () => Promise.resolve({ ...response, headers }))
  return { reservation, key }
}

/** An operation in each status that the reaper must not end, long past its retention. */
const untouchable: [string, () => Promise<OperationRef>][] = [
  ['pending', () => pendingOperation(store)],
  ['processing', () => claimedOperation(store)],
  ['unknown', () => givenBack(unknown)],
]

async function givenBack(to: typeof failed): Promise<OperationRef> {
  const claim = await claimedOperation(store)
  await giveBack(store, claim, to)
  return { tenantId: claim.tenantId, id: claim.id }
}

async function failedHalfway(): Promise<OperationRef> {
  const ref = await givenBack(failed)
  await sql`update idempotency_keys set recovery_point = 'authorized' where id = ${ref.id}`
  return ref
}

const reapAll = () => deleteExpiredKeys(sql, 100)

describe('tombstones of deleted keys', () => {
  test('name the resource of an expired completed key, under the hash of the key', async () => {
    const { tenantId, key, paymentId } = await expiredOperation()

    expect(await reapAll()).toBe(1)

    const [row] = await sql`select * from key_tombstones`
    expect(row).toMatchObject({ tenant_id: tenantId, payment_id: paymentId, refund_id: null })
    expect(row?.['key_hash']).toEqual(createHash('sha256').update(key).digest())
    expect(await findTombstone(sql, tenantId, key)).toMatchObject({ paymentId, location: null })
  })

  test('hash a key as UTF-8, as the lookup does', async () => {
    const { tenantId, key } = await expiredOperation('Bestellung „7“ \\x00 ä')

    await reapAll()

    expect(await findTombstone(sql, tenantId, key)).toBeDefined()
    expect(await findTombstone(sql, tenantId, `${key} `)).toBeUndefined()
  })

  test.each([['/v1/webhook-endpoints/we_1'], [null]])(
    'keep the location of the resource of a local operation: %s',
    async (location) => {
      const { reservation } = await localOperation(location)
      await expireKeys(sql)

      expect(await reapAll()).toBe(1)

      const earlier = await findTombstone(sql, reservation.tenantId, reservation.key)
      expect(earlier).toMatchObject({ paymentId: null, refundId: null, location })
    },
  )

  test('replace those of earlier operations of the key', async () => {
    const tenantId = await makeTenant(store)
    await expiredOperation('order-1', tenantId)
    await reapAll()
    const second = await expiredOperation('order-1', tenantId)

    expect(await reapAll()).toBe(1)
    const earlier = await findTombstone(sql, tenantId, 'order-1')
    expect(earlier?.paymentId).toBe(second.paymentId)
  })
})

test.each<[string, () => Promise<unknown>, (limit: number) => Promise<number>]>([
  ['deletes keys', expiredOperation, (limit) => deleteExpiredKeys(sql, limit)],
  [
    'times operations without effect out',
    () => givenBack(failed),
    (limit) => timeOutIfAbandoned(sql, timeout, { ...kept, limit }),
  ],
])('%s in batches', async (_, make, end) => {
  for (let count = 0; count < 3; count += 1) await make()
  await expireKeys(sql)

  expect([await end(2), await end(2), await end(2)]).toEqual([2, 1, 0])
})

test.each(untouchable)('does not touch an expired key that is %s', async (_, make) => {
  const ref = await make()
  await expireKeys(sql, ref)
  const before = await readRow(sql, ref)

  const timedOut = await timeOutIfAbandoned(sql, timeout, kept)
  const halfway = await sql.begin((tx) => reportAbandoned(tx, kept))
  const deleted = await reapAll()

  expect([timedOut, halfway, deleted]).toEqual([0, [], 0])
  expect(await readRow(sql, ref)).toEqual(before)
  expect(await sql`select from key_tombstones`).toHaveLength(0)
})

describe('an operation that failed before any effect', () => {
  test('is either reopened or timed out when both happen concurrently', async () => {
    const ref = await givenBack(failed)
    await expireKeys(sql, ref)

    const [reopened, timedOut] = await Promise.all([
      sql.begin((tx) => reopenIfFailed(tx, ref)),
      timeOutIfAbandoned(sql, timeout, kept),
    ])

    expect(Number(reopened) + timedOut).toBe(1)
    expect((await readRow(sql, ref))['status']).toBe(reopened ? 'pending' : 'completed')
  })
})

describe('an operation that failed half-way, and whose payment has ended since', () => {
  const overtaken = problemResponse('ietf', 'invalid-state')

  async function withPayment(status: string) {
    const ref = await failedHalfway()
    await sql`
      update payments set
        status = ${status}, previous_status = 'processing', provider_payment_id = ${ref.id},
        amount_captured_minor = ${status === 'succeeded' ? 1 : 0},
        failure_code = ${status === 'declined' ? 'card_declined' : null}
      where id = (select payment_id from idempotency_keys where id = ${ref.id})
    `
    await expireKeys(sql, ref)
    return ref
  }

  test.each(['succeeded', 'canceled'])('%s, gets a final answer and no finding', async (status) => {
    const ref = await withPayment(status)

    expect(await sql.begin((tx) => reportAbandoned(tx, kept))).toEqual([])
    expect(await completeIfOvertaken(sql, overtaken, kept)).toBe(1)

    const row = await readRow(sql, ref)
    expect(row).toMatchObject({ status: 'completed', response_status: 409 })
    expect(await completeIfOvertaken(sql, overtaken, kept)).toBe(0)
  })

  test('is kept if its first call may have been executed, as a refund of a captured payment', async () => {
    const ref = await withPayment('succeeded')
    await sql`
      update idempotency_keys set recovery_point = 'started', phase_began_at = now()
      where id = ${ref.id}
    `

    expect(await timeOutIfAbandoned(sql, timeout, kept)).toBe(0)
    expect(await completeIfOvertaken(sql, overtaken, kept)).toBe(0)
    expect(await sql.begin((tx) => reportAbandoned(tx, kept))).toMatchObject([ref])
  })

  test.each(['requires_capture', 'declined'])('is kept while the payment is %s', async (status) => {
    await withPayment(status)

    expect(await completeIfOvertaken(sql, overtaken, kept)).toBe(0)
    expect(await sql.begin((tx) => reportAbandoned(tx, kept))).toHaveLength(1)
  })
})

describe('operations with retentions of their own', () => {
  const WEEK = 7 * RETENTION_SECONDS
  const own = {
    limit: 100,
    retention: {
      ...kept.retention,
      KEY_RETENTION_SECONDS_BY_OPERATION: { 'payment.capture': WEEK },
    },
  }

  /** One with the default and one with its own, which one statement ends. */
  async function expectEach(
    make: () => Promise<OperationRef>,
    end: () => Promise<unknown>,
  ): Promise<void> {
    const refs = [await make(), await make()]
    await sql`
      update idempotency_keys set operation = 'payment.capture' where id = ${refs[1]?.id ?? ''}
    `
    await expireKeys(sql)

    await end()

    const rows = await Promise.all(refs.map((ref) => readRow(sql, ref)))
    const ahead = await Promise.all(rows.map((row) => secondsAhead(sql, row['expires_at'])))
    expect(ahead.map((seconds) => Math.round(seconds / 60) * 60)).toEqual([RETENTION_SECONDS, WEEK])
  }

  test('are kept half-way for them', async () => {
    await expectEach(failedHalfway, () => sql.begin((tx) => reportAbandoned(tx, own)))
  })

  test('are completed for them when another one has ended their payment', async () => {
    await expectEach(failedHalfway, async () => {
      await sql`
        update payments set status = 'canceled', previous_status = 'processing'
        where id in (select payment_id from idempotency_keys)
      `
      await completeIfOvertaken(sql, timeout, own)
    })
  })
})

describe('tombstones', () => {
  test('are deleted after their own retention, the oldest first, in batches', async () => {
    for (let count = 0; count < 3; count += 1) await expiredOperation()
    await reapAll()
    await ageTombstones(sql, 24)
    const { tenantId, key } = await expiredOperation()
    await reapAll()

    const batches = []
    for (let count = 0; count < 3; count += 1) {
      batches.push(await deleteOldTombstones(sql, { limit: 2, retentionSeconds: 3_600 }))
    }

    expect(batches).toEqual([2, 1, 0])
    expect(await findTombstone(sql, tenantId, key)).toBeDefined()
  })
})

describe('reusing a deleted key', () => {
  /** Reserves during a transaction, which goes on when the reservation waits for it. */
  async function reserveDuring(
    reservation: Parameters<typeof reserve>[1],
    { first, last }: Record<'first' | 'last', (tx: Transaction) => Promise<unknown>>,
  ): Promise<unknown> {
    const reserving = await sql.begin(async (tx) => {
      await first(tx)
      const waiting = reserve(sql, reservation)
      waiting.catch(() => {})
      await untilStatementWaits()
      await last(tx)
      return { waiting }
    })
    return await reserving.waiting
  }

  const deletion = {
    first: async (tx: Transaction) => expect(await deleteExpiredKeys(within(tx), 100)).toBe(1),
    last: () => Promise.resolve(),
  }

  test('is never treated as a first use by a reservation that waits for the delete', async () => {
    const tenantId = await makeTenant(store)
    const { paymentId } = await expiredOperation('order-1', tenantId)

    const reserving = reserveDuring(reservationOf(tenantId, { key: 'order-1' }), deletion)

    expect(await reserving).toMatchObject({ status: 'pending', earlier: { paymentId } })
  })

  test('is refused once the delete is committed that it waited for, when expired keys are gone', async () => {
    const tenantId = await makeTenant(store)
    await expiredOperation('order-1', tenantId)
    const reservation = reservationOf(tenantId, { key: 'order-1', expiredKeys: 'gone' })

    const reserving = reserveDuring(reservation, deletion)

    await expect(reserving).rejects.toMatchObject({ name: 'KeyExpiredError' })
  })

  test('is refused by a tombstone that is written while the reservation waits for the key', async () => {
    const tenantId = await makeTenant(store)
    await expiredOperation('order-1', tenantId)
    await reapAll()
    const [tombstone] = await sql`delete from key_tombstones returning *`
    const other = reservationOf(tenantId, { key: 'order-1' })
    const reservation = reservationOf(tenantId, { key: 'order-1', expiredKeys: 'gone' })

    const reserving = reserveDuring(reservation, {
      first: (tx) => reserveKeys(tx, tenantId, [other]),
      last: async (tx) => {
        await sql`insert into key_tombstones ${sql(tombstone ?? {})}`
        await tx`delete from idempotency_keys where id = ${other.id}`
      },
    })

    await expect(reserving).rejects.toMatchObject({ name: 'KeyExpiredError' })
  })
})

/** A pool whose transactions are this one. */
function within(tx: Transaction): Sql {
  const begin = (work: (own: Transaction) => unknown) => work(tx)
  return { begin } as unknown as Sql
}

/** Waits until a statement waits for another transaction of this database. */
async function untilStatementWaits(): Promise<void> {
  await until(async () => {
    const waiting = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    `
    return waiting.length > 0
  })
}

test('the reaper reads a large table by its indexes', async () => {
  const { tenantId, id } = await completedOperation()
  await sql`
    insert into idempotency_keys (
      tenant_id, id, key, fingerprint, operation, payment_id, status, recovery_point,
      response_status, response_headers, response_body, finished_at, expires_at
    )
    select
      tenant_id, gen_random_uuid(), 'seed-' || n, fingerprint, operation, payment_id, status,
      recovery_point, response_status, response_headers, response_body, finished_at,
      now() + (n - 1000) * interval '1 second'
    from idempotency_keys, generate_series(1, 10000) as n
    where tenant_id = ${tenantId} and id = ${id}
  `
  await sql`analyze idempotency_keys`
  const statements: readonly [string, (explaining: Sql) => Promise<unknown>][] = [
    ['idempotency_keys_expired', (to) => deleteExpiredKeys(to, 500)],
    ['idempotency_keys_given_up', (to) => timeOutIfAbandoned(to, timeout, kept)],
    ['idempotency_keys_given_up', (to) => completeIfOvertaken(to, timeout, kept)],
    ['idempotency_keys_given_up', (to) => reportAbandoned(to as unknown as never, kept)],
  ]
  for (const [index, run] of statements) {
    const plan = JSON.stringify(await explain(sql, /^\s*(with|delete|update|select\n)/, run))

    expect(plan).toContain(`"Index Name":"${index}"`)
    expect(plan).not.toMatch(/"Seq Scan"[^}]*"Relation Name":"idempotency_keys"/)
  }
})
