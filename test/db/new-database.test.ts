// A new database has no statistics. Until autovacuum analyzes a table, PostgreSQL plans with default
// estimates. The number of rows and index entries that a payment reads must not grow with those before it.
import { beforeAll, expect, test } from '@jest/globals'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { t } from '../support/own-engine.ts'

const PAYMENTS = 12

/** Of the pool of the engine. */
const SESSIONS = 6

// With statistics PostgreSQL reads small tables as a whole, which is right.
beforeAll(async () => {
  const { sql } = t.engine.store
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public'
  `
  for (const { name } of tables) {
    await sql`alter table ${sql(name)} set (autovacuum_enabled = off)`
  }
})

/** What is read more than once a payment, by the name of its index or table. */
type Reads = Readonly<Record<string, number>>

async function reads(): Promise<Reads> {
  const { sql } = t.engine.store
  await flushStatistics()
  const rows = await sql<{ name: string; read: number }[]>`
    select indexrelname as name, idx_tup_read::int as read from pg_stat_user_indexes
    union all
    select relname, seq_tup_read::int from pg_stat_user_tables
  `
  return Object.fromEntries(rows.map(({ name, read }) => [name, read]))
}

/**
 * The statistics of a session reach the views when it is idle, some time later unless it is told to flush
 * them. All sessions are in a transaction before the first one ends, so that each of them is told.
 */
async function flushStatistics(): Promise<void> {
  const all = Promise.withResolvers<void>()
  let told = 0
  await Promise.all(
    Array.from({ length: SESSIONS }, () =>
      inTransaction(t.engine.store.sql, async (tx) => {
        await tx`select pg_stat_force_next_flush()`
        told += 1
        if (told === SESSIONS) all.resolve()
        await all.promise
      }),
    ),
  )
}

async function readsOfRefundedPayments(): Promise<Reads> {
  const before = await reads()
  for (let payment = 0; payment < PAYMENTS; payment += 1) {
    const paid = await t.accept()
    expect(await runOperation(t.engine, paid)).toBe('finished')
    expect(await runOperation(t.engine, await t.acceptRefund(paid, 500))).toBe('finished')
  }
  const after = await reads()
  return Object.fromEntries(
    Object.entries(after).map(([name, read]) => [name, read - (before[name] ?? 0)]),
  )
}

test('later payments and refunds of a tenant read no more than its first ones', async () => {
  await readsOfRefundedPayments()
  const first = await readsOfRefundedPayments()
  await readsOfRefundedPayments()
  await readsOfRefundedPayments()
  const later = await readsOfRefundedPayments()

  const grown = Object.entries(later).filter(
    ([name, read]) => read > 1.5 * (first[name] ?? 0) + PAYMENTS,
  )
  expect(grown).toEqual([])
})
