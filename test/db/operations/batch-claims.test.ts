// Tests batches of claims: each request gets the result of a single claim, and no operation has two
// owners.
import { randomUUID } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { batchClaims, claimEachIfUnowned } from '../../../src/db/operations/leases.ts'
import type { Sql } from '../../../src/db/connection/client.ts'
import { testOnOneServer } from '../../support/one-server.ts'
import { claimIfUnowned } from '../../support/claim.ts'
import {
  claimedOperation,
  LEASE_MS,
  letLeaseRunOut,
  makeTenant,
  openTestStore,
  pendingOperation,
  readRow,
  reservationOf,
  reserve,
} from '../reservations.ts'
import { database, store } from '../../support/own-store.ts'

/** Wraps the connection and counts the claim statements. */
function countClaims(sql: Sql): { sql: Sql; claims: () => number } {
  let claims = 0
  const begin = (work: never) => {
    claims += 1
    return sql.begin(work)
  }
  const counting = new Proxy(sql, {
    get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
  })
  return { sql: counting, claims: () => claims }
}

const pending = (count: number) =>
  Promise.all(Array.from({ length: count }, () => pendingOperation(store)))

test('claims the requests of one turn by one transaction, each for its caller', async () => {
  const { sql, claims } = countClaims(store.sql)
  const claim = batchClaims(sql)
  const refs = await pending(4)

  const claimed = await Promise.all(refs.map((ref) => claim(ref, LEASE_MS)))

  expect(claims()).toBe(1)
  expect(claimed.map((one) => [one?.id, one?.tenantId])).toEqual(
    refs.map(({ id, tenantId }) => [id, tenantId]),
  )
  for (const one of claimed) expect(one).toMatchObject({ leaseEpoch: 1, attempt: 1 })
})

test('gives an operation to one of two requests in the same turn', async () => {
  const claim = batchClaims(store.sql)
  const ref = await pendingOperation(store)

  const [first, second] = await Promise.all([claim(ref, LEASE_MS), claim(ref, LEASE_MS)])

  expect(first).toMatchObject({ id: ref.id, leaseEpoch: 1 })
  expect(second).toBeUndefined()
  expect(await readRow(store.sql, ref)).toMatchObject({ lease_epoch: 1, attempts: 1 })
})

test('returns undefined for an operation that cannot be claimed, and claims the others', async () => {
  const claim = batchClaims(store.sql)
  const held = await claimedOperation(store)
  const left = await claimedOperation(store)
  await letLeaseRunOut(store.sql, left)
  const free = await pendingOperation(store)
  const missing = { tenantId: free.tenantId, id: randomUUID() }
  const ofOtherTenant = { tenantId: held.tenantId, id: free.id }

  const claimed = await Promise.all(
    [held, missing, ofOtherTenant, left, free].map((ref) => claim(ref, LEASE_MS)),
  )

  expect(claimed.map((one) => one?.id)).toEqual([undefined, undefined, undefined, left.id, free.id])
  expect(claimed[3]).toMatchObject({ leaseEpoch: 2, inDoubt: true })
  expect(await readRow(store.sql, held)).toMatchObject({ lease_epoch: 1 })
})

test('gives each operation one owner when workers claim the same operations concurrently', async () => {
  const refs = await pending(20)
  const workers = Array.from({ length: 6 }, (_, worker) =>
    claimEachIfUnowned(store.sql, worker % 2 === 0 ? refs : refs.toReversed(), LEASE_MS),
  )

  const claims = (await Promise.all(workers)).flat().filter((claim) => claim !== undefined)

  expect(claims.map(({ id }) => id).toSorted()).toEqual(refs.map(({ id }) => id).toSorted())
  expect(await claimIfUnowned(store.sql, refs[0] as never, LEASE_MS)).toBeUndefined()
})

testOnOneServer(
  'reads only the payments that it claims, also by a plan made while the tables were small',
  async () => {
    const one = openTestStore(database.url, 1)
    const { sql } = one
    const readRows = async () => {
      await sql`select pg_stat_force_next_flush()`
      const [row] = await sql<{ rows: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::int as rows
      from pg_stat_user_tables where relname = 'payments'
    `
      return row?.rows ?? 0
    }
    const tenantId = await makeTenant(store)
    for (let other = 0; other < 10; other += 1) await makeTenant(store)
    const ofTenant = (count: number) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const { id } = await reserve(store.sql, reservationOf(tenantId))
          return { tenantId, id }
        }),
      )
    await ofTenant(300)
    await sql`analyze`
    // PostgreSQL keeps the plan of a prepared statement from its sixth execution on.
    const claims = 10
    const refs = await ofTenant(claims)
    const before = await readRows()

    for (const ref of refs) await claimEachIfUnowned(sql, [ref], LEASE_MS)

    expect((await readRows()) - before).toBe(claims)
    await one.close()
  },
)
