// Tests the statements on idempotency keys on a real database: which request reserves a key, which
// worker claims its operation, and when it may be reopened.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Store } from '../../../src/db/connection/client.ts'
import { findIdle, reopenIfFailed } from '../../../src/db/idempotency/idempotency-keys.ts'
import { claimIfUnowned } from '../../support/claim.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import {
  claimedOperation,
  claimOrThrow,
  countJobs,
  countRows,
  failed,
  finish,
  giveBack,
  LEASE_MS,
  makeTenant,
  openTestStore,
  pending,
  pendingOperation,
  readRow,
  reservationOf,
  reserve,
  secondsAhead,
  unknown,
} from '../reservations.ts'

const RIVALS = 20

let database: TestDatabase
let store: Store

beforeAll(async () => {
  database = await createTestDatabase()
  store = openTestStore(database.url, RIVALS)
})
afterAll(async () => {
  await store.close()
  await database.drop()
})

describe('reserving', () => {
  test('lets one of 20 concurrent reservations win, and all return its id', async () => {
    const tenantId = await makeTenant(store)
    const rivals = Array.from({ length: RIVALS }, () => reservationOf(tenantId, { key: 'order-1' }))

    const rows = await Promise.all(rivals.map((rival) => reserve(store.sql, rival)))

    const winners = new Set(rows.map((row) => row.id))
    expect(winners.size).toBe(1)
    expect(rivals.map((rival) => rival.id)).toContain(rows[0]?.id)
    expect(await countRows(store.sql, 'idempotency_keys', tenantId)).toBe(1)
    expect(await countRows(store.sql, 'payments', tenantId)).toBe(1)
    expect(await countRows(store.sql, 'phase_runs', tenantId)).toBe(1)
    const jobs = await Promise.all(rivals.map((rival) => countJobs(store.sql, rival.id)))
    expect(jobs.reduce((sum, count) => sum + count, 0)).toBe(1)
  })

  test('writes nothing for a used key, and returns its row', async () => {
    const tenantId = await makeTenant(store)
    const first = await reserve(store.sql, reservationOf(tenantId, { key: 'order-1' }))

    const second = await reserve(store.sql, reservationOf(tenantId, { key: 'order-1' }))

    expect(second).toEqual(first)
    expect(await countRows(store.sql, 'payments', tenantId)).toBe(1)
  })

  test('relies on the unique constraint, which refuses a second row of the key', async () => {
    const tenantId = await makeTenant(store)
    const { id } = await reserve(store.sql, reservationOf(tenantId))

    const copy = store.sql`
      insert into idempotency_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, expires_at
      )
      select tenant_id, ${randomUUID()}, key, fingerprint, operation, payment_id, expires_at
      from idempotency_keys where tenant_id = ${tenantId} and id = ${id}
    `

    await expect(copy).rejects.toMatchObject({
      code: '23505',
      message: expect.stringContaining('idempotency_keys_one_per_key'),
    })
  })

  test('compares keys by every character, including case and spaces', async () => {
    const tenantId = await makeTenant(store)
    const keys = ['Order', 'order', 'order ', ' order', 'ORDER']

    for (const key of keys) await reserve(store.sql, reservationOf(tenantId, { key }))

    expect(await countRows(store.sql, 'idempotency_keys', tenantId)).toBe(keys.length)
  })
})

describe('claiming', () => {
  test('starts a lease epoch and counts an attempt', async () => {
    const ref = await pendingOperation(store)

    const claim = await claimIfUnowned(store.sql, ref, LEASE_MS)

    expect(claim).toMatchObject({
      ...ref,
      recoveryPoint: 'started',
      leaseEpoch: 1,
      attempt: 1,
      inDoubt: false,
      // Nodes of Citus have clocks of their own.
      phaseAgeMs: expect.closeTo(0, -2),
      payment: { tenantId: ref.tenantId, id: claim?.paymentId, status: 'processing' },
    })
    const row = await readRow(store.sql, ref)
    expect(row).toMatchObject({ status: 'processing', lease_epoch: 1, attempts: 1 })
    expect(await secondsAhead(store.sql, row['lease_expires_at'])).toBeGreaterThan(
      LEASE_MS / 1_000 - 20,
    )
  })

  test('is in doubt after a try whose call may have been executed, and keeps the start of the phase', async () => {
    const held = await claimedOperation(store)
    await giveBack(store, held, pending)
    await store.sql`
      update idempotency_keys set phase_began_at = now() - interval '1 hour'
      where tenant_id = ${held.tenantId} and id = ${held.id}
    `

    const claim = await claimOrThrow(store.sql, held)

    expect(claim).toMatchObject({ leaseEpoch: 2, inDoubt: true })
    expect(claim.phaseAgeMs).toBeGreaterThanOrEqual(3_600_000)
  })

  test('is not in doubt after a try that was proved not executed, and restarts the phase', async () => {
    const held = await claimedOperation(store)
    await giveBack(store, held, { ...pending, inDoubt: false })

    const claim = await claimOrThrow(store.sql, held)

    expect(claim).toMatchObject({ inDoubt: false, phaseAgeMs: expect.closeTo(0, -2) })
  })
})

describe('reopening', () => {
  test('makes a failed operation pending with a new job, once among 20 concurrent retries', async () => {
    const held = await claimedOperation(store)
    await giveBack(store, held, failed)

    const reopened = await Promise.all(
      Array.from({ length: RIVALS }, () => store.sql.begin((tx) => reopenIfFailed(tx, held))),
    )

    expect(reopened.filter(Boolean)).toHaveLength(1)
    expect(await readRow(store.sql, held)).toMatchObject({ status: 'pending', last_error: null })
    expect(await countJobs(store.sql, held.id)).toBe(2)
  })
})

describe('finding idle operations', () => {
  test('returns exactly the operations on which no worker works', async () => {
    const waiting = await pendingOperation(store)
    const held = await claimedOperation(store)
    const idle = [
      await claimedOperation(store),
      await claimedOperation(store),
      await claimedOperation(store),
    ] as const
    await finish(store, idle[0])
    await giveBack(store, idle[1], failed)
    await giveBack(store, idle[2], unknown)

    const keys = await findIdle(store.sql, [waiting, held, ...idle])

    const ids = keys.map(({ id }) => id)
    expect(ids.toSorted()).toEqual(idle.map(({ id }) => id).toSorted())
  })
})
