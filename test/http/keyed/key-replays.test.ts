// How often keys were used again: what the statements count, for which keys, and for how long.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Sql, Store } from '../../../src/db/connection/client.ts'
import { asTenant } from '../../../src/db/connection/transaction.ts'
import { deleteExpiredKeys } from '../../../src/recovery/reaper.ts'
import { addReplays, listReplays } from '../../../src/http/keyed/replay-counter.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { expireKeys } from '../../support/expired-keys.ts'
import { claimedOperation, finish, pendingOperation } from '../../db/reservations.ts'
import { database, store as owner } from '../../support/own-store.ts'
import { openServiceStore } from '../../support/service-store.ts'

let store: Store
let sql: Sql

beforeAll(() => {
  store = openServiceStore(database.url)
  sql = store.sql
})
afterAll(() => store.close())

const EARLIER = new Date('2026-01-31T12:00:00Z')
const LATER = new Date('2026-01-31T12:00:05Z')
const countOf = ({ tenantId, id }: OperationRef, firstAt = EARLIER, lastAt = EARLIER) => ({
  tenantId,
  id,
  replays: 2,
  conflicts: 1,
  mismatches: 0,
  firstAt,
  lastAt,
})

const read = ({ tenantId, id }: OperationRef) => listReplays(sql, tenantId, [id])

test('adds the counts of several processes, whose rows come in any order', async () => {
  const refs = await Promise.all([1, 2, 3, 4].map(() => pendingOperation(store)))
  const rounds = Array.from({ length: 10 }, (_, at) =>
    at % 2 === 0
      ? addReplays(
          sql,
          refs.map((ref) => countOf(ref)),
        )
      : addReplays(sql, refs.map((ref) => countOf(ref, LATER, LATER)).toReversed()),
  )

  await Promise.all(rounds)

  for (const ref of refs) {
    const { tenantId, id } = ref
    expect(await read(ref)).toEqual([
      { tenantId, id, replays: 20, conflicts: 10, mismatches: 0, firstAt: EARLIER, lastAt: LATER },
    ])
  }
})

test('writes nothing for a key that does not exist, and the others of its batch', async () => {
  const ref = await pendingOperation(store)
  const deleted = { ...ref, id: randomUUID() }

  await addReplays(sql, [countOf(deleted), countOf(ref)])

  expect(await read(deleted)).toEqual([])
  expect(await read(ref)).toHaveLength(1)
})

test('deletes a count with its key', async () => {
  const claim = await claimedOperation(store)
  await finish(store, claim)
  await addReplays(sql, [countOf(claim)])
  await expireKeys(owner.sql)

  await deleteExpiredKeys(sql, 100)

  expect(await read(claim)).toEqual([])
  const [row] = await asTenant(sql, claim.tenantId)`
    select count(*)::int as kept from idempotency_keys where id = ${claim.id}
  `
  expect(row).toEqual({ kept: 0 })
})
