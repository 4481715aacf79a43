// Tests on a real database that the store refuses a late retry by its own clock, at the very moment at
// which a key can be deleted, and even when nothing of the key is left.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import type { Sql } from '../../../src/db/connection/client.ts'
import { FirstSentRefusedError, findEach } from '../../../src/db/idempotency/idempotency-keys.ts'
import { deleteExpiredKeys } from '../../../src/recovery/reaper.ts'
import { batchReservations } from '../../../src/db/idempotency/intents.ts'
import { doOnce } from '../../../src/http/keyed/keyed-locally.ts'
import { reserveKeys } from '../../../src/db/idempotency/reserve-keys.ts'
import { detailsOfPayment, insertPayments } from '../../../src/db/payments/payments.ts'
import { until } from '../../support/until.ts'
import {
  claimOrThrow,
  finish,
  makeTenant,
  request,
  reservationOf,
  reserve,
  response,
  RETENTION_SECONDS,
} from '../reservations.ts'
import { store } from '../../support/own-store.ts'

const SKEW_SECONDS = 300

let sql: Sql

beforeAll(async () => {
  sql = store.sql
})
interface UsedKey {
  readonly id: string
  readonly tenantId: string
  readonly key: string
  /** The latest time that its client can have sent: by a clock that is ahead as far as accepted. */
  readonly firstSent: Date
}

/** A completed key that expires in some seconds; they may be negative. */
async function keyThatExpiresIn(seconds: number): Promise<UsedKey> {
  const tenantId = await makeTenant(store)
  const key = randomUUID()
  const { id } = await reserve(sql, reservationOf(tenantId, { key }))
  await finish(store, await claimOrThrow(sql, { tenantId, id }))
  const [row] = await sql<{ expires_at: string }[]>`
    update idempotency_keys set expires_at = now() + ${seconds} * interval '1 second'
    where id = ${id} returning expires_at
  `
  const lead = (RETENTION_SECONDS - SKEW_SECONDS) * 1_000
  return { id, tenantId, key, firstSent: new Date(Date.parse(row?.expires_at ?? '') - lead) }
}

/** Deletes what can be deleted, and every tombstone, so that only the time is left. */
async function forget({ id, tenantId }: UsedKey): Promise<void> {
  await deleteExpiredKeys(sql, 100)
  await sql`delete from key_tombstones where tenant_id = ${tenantId} and ${id}::uuid is not null`
}

const retryOf = ({ tenantId, key, firstSent }: UsedKey) =>
  reservationOf(tenantId, { key, firstSent })

test.each([-3_600, -60, -1, -0.02, 0.02, 0.2, 60])(
  'never executes a retry again, %d seconds before the key expires',
  async (seconds) => {
    const used = await keyThatExpiresIn(seconds)
    await forget(used)

    const outcome = await reserve(sql, retryOf(used)).then(
      ({ id }) => id,
      (error: unknown) => (error instanceof FirstSentRefusedError ? 'refused' : error),
    )

    const expected = seconds > 0 ? [used.id] : ['refused']
    // In less than a second the key may expire while the test runs.
    expect(Math.abs(seconds) < 1 ? [used.id, 'refused'] : expected).toContain(outcome)
  },
)

describe('a transaction that stalls between its begin and the reservation', () => {
  test('does not execute a retry whose key was deleted in the meantime', async () => {
    const used = await keyThatExpiresIn(0.5)
    const tries = sql.begin(async (tx) => {
      await tx`select now()`
      await until(async () => {
        await forget(used)
        return (await sql`select from idempotency_keys where id = ${used.id}`).length === 0
      })
      return await reserveKeys(tx, used.tenantId, [retryOf(used)])
    })

    expect(await tries).toEqual([])
  })
})

test('a local operation is not executed again either', async () => {
  const used = await keyThatExpiresIn(-1)
  await forget(used)
  const { tenantId, id, key, fingerprint, retentionSeconds, firstSent } = retryOf(used)
  const operation = 'webhook_endpoint.create' as const
  const local = { tenantId, id, key, fingerprint, retentionSeconds, firstSent, operation }

  const again = doOnce(sql, { ...local, expiredKeys: 'new' }, () => Promise.resolve(response))

  await expect(again).rejects.toBeInstanceOf(FirstSentRefusedError)
})

test('a late retry does not keep the key from a request that shares its transaction', async () => {
  const used = await keyThatExpiresIn(-1)
  await forget(used)
  const details = detailsOfPayment(request, 'stripe')
  const other = reservationOf(used.tenantId, { key: used.key, details })
  const reserveOne = batchReservations()
  const retry = { ...retryOf(used), details }

  const [, first] = await Promise.allSettled(
    [retry, other].map((intent) => reserveOne(sql, intent, insertPayments)),
  )

  expect(first).toMatchObject({ status: 'fulfilled', value: { key: { id: other.id } } })
  expect(await findEach(sql, [used])).toMatchObject([{ id: other.id }])
})

test('one late retry does not affect the requests that share its transaction', async () => {
  const used = await keyThatExpiresIn(-1)
  await forget(used)
  const other = reservationOf(used.tenantId)

  const [late, first] = await Promise.allSettled([reserve(sql, retryOf(used)), reserve(sql, other)])

  expect(late.status).toBe('rejected')
  expect(first).toMatchObject({ status: 'fulfilled', value: { id: other.id } })
})
