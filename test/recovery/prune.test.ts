// Tests what is deleted after its retention period, and what stays however old it is.
import { randomUUIDv7 } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Store } from '../../src/db/connection/client.ts'
import { inService } from '../../src/db/connection/transaction.ts'
import { storeRetention } from '../../src/migrations/migrate.ts'
import { appendAdminAction } from '../../src/db/operators/admin-actions.ts'
import { firstIdAt } from '../../src/db/connection/rows.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { prune, type PruneSettings } from '../../src/recovery/prune.ts'
import { insertDelivery } from '../support/old-delivery.ts'
import { openServiceStore } from '../support/service-store.ts'
import { startTestEngine, type Accepted, type TestEngine } from '../support/engine.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'

const settings: PruneSettings = {
  DELIVERY_RETENTION_DAYS: 30,
  TIMELINE_RETENTION_DAYS: 30,
  EVENT_RETENTION_DAYS: 30,
  AUDIT_RETENTION_DAYS: 30,
  INBOX_RETENTION_DAYS: 90,
  PAYMENT_RETENTION_DAYS: 0,
  REAP_BATCH_SIZE: 2,
}
const longer: PruneSettings = {
  ...settings,
  DELIVERY_RETENTION_DAYS: 60,
  TIMELINE_RETENTION_DAYS: 60,
  EVENT_RETENTION_DAYS: 60,
  AUDIT_RETENTION_DAYS: 60,
}
const nothing = {
  deliveries: 0,
  timeline_entries: 0,
  events: 0,
  audit_records: 0,
  provider_events: 0,
  payments: 0,
}
const DAY_MS = 24 * 60 * 60 * 1_000

let t: TestEngine
/** With the rights of a worker, which may not delete history. */
let service: Store

beforeAll(async () => {
  t = await startTestEngine()
  service = openServiceStore(t.databaseUrl)
  await storeRetention(t.engine.store.sql, settings)
})
afterAll(async () => {
  await service.close()
  await t.stop()
})

const round = (over: Partial<PruneSettings> = {}) =>
  prune({ ...t.engine, store: service }, { ...settings, ...over })

/** An id of that age, which sorts before those of today. */
function idFrom(daysAgo: number): string {
  const time = firstIdAt(Date.now() - daysAgo * DAY_MS).slice(0, 13)
  return `${time}${randomUUIDv7().slice(13)}`
}

/** Replaces the ids of the rows, so that they are as old. */
async function age(table: 'events' | 'phase_runs' | 'admin_actions', daysAgo: number) {
  const { sql } = t.engine.store
  const rows = await sql<{ id: string }[]>`select id from ${sql(table)}`
  const happened =
    table === 'admin_actions' ? sql`, happened_at = now() - ${daysAgo} * interval '1 day'` : sql``
  for (const { id } of rows) {
    await sql`update ${sql(table)} set id = ${idFrom(daysAgo)} ${happened} where id = ${id}`
  }
  return rows.length
}

async function finished(): Promise<Accepted> {
  const ref = await t.accept()
  await runOperation(t.engine, ref)
  return ref
}

async function countIn(table: string): Promise<number> {
  const { sql } = t.engine.store
  return (await sql`select from ${sql(table)}`).count
}

/** A delivery of an event of the payment, with an attempt. */
const delivery = (ref: Accepted, status: string, daysAgo: number) =>
  insertDelivery(t.engine.store.sql, ref, { status, id: idFrom(daysAgo) })

describe('a round', () => {
  test('deletes nothing that is younger', async () => {
    await delivery(await finished(), 'failed', 29)

    expect(await round()).toEqual(nothing)
  })

  test('deletes timelines in batches, and no money', async () => {
    const { paymentId } = await finished()
    const entries = await age('phase_runs', 31)

    expect(await round()).toEqual({ ...nothing, timeline_entries: entries })

    expect(entries).toBeGreaterThan(settings.REAP_BATCH_SIZE)
    expect(await countIn('phase_runs')).toBe(0)
    expect(await t.readPayment({ tenantId: '', paymentId })).toMatchObject({ status: 'succeeded' })
    expect(await countIn('ledger_postings')).toBeGreaterThan(0)
    await expectLedgerBalanced(t.engine.store)
  })

  test('keeps the timeline of an operation that has no final answer', async () => {
    const ref = await t.accept()
    const entries = await age('phase_runs', 31)

    expect(await round()).toEqual(nothing)
    expect(await countIn('phase_runs')).toBe(entries)

    await runOperation(t.engine, ref)
    const all = await age('phase_runs', 31)
    expect(await round()).toEqual({ ...nothing, timeline_entries: all })
  })

  test('deletes ended deliveries with their attempts, and keeps pending ones', async () => {
    const ref = await finished()
    await delivery(ref, 'failed', 31)
    await delivery(ref, 'succeeded', 31)
    const waiting = await delivery(ref, 'pending', 31)
    const before = await countIn('webhook_attempts')

    expect(await round()).toMatchObject({ deliveries: 2 })

    expect(await countIn('webhook_attempts')).toBe(before - 2)
    const { sql } = t.engine.store
    expect(await sql`select from webhook_deliveries where id = ${waiting}`).toHaveLength(1)
  })

  test('deletes events once no delivery is left of them', async () => {
    const { sql } = t.engine.store
    await sql`truncate webhook_endpoints, webhook_deliveries, webhook_attempts, events`
    const ref = await finished()
    const events = await age('events', 31)
    await delivery(ref, 'failed', 1)

    expect(await round()).toMatchObject({ events: events - 1 })
    await sql`truncate webhook_deliveries, webhook_attempts`
    expect(await round()).toMatchObject({ events: 1 })
  })

  test('deletes audit records', async () => {
    const { sql } = t.engine.store
    const action = { actor: 'ann', action: 'tenant.create', subject: null, details: {} }
    await appendAdminAction(sql, action)
    await age('admin_actions', 31)
    await appendAdminAction(sql, action)

    expect(await round()).toMatchObject({ audit_records: 1 })
    expect(await countIn('admin_actions')).toBe(1)
  })

  test('deletes an audit record by the time of the database, and not of its id', async () => {
    const { sql } = t.engine.store
    await sql`truncate admin_actions`
    await sql`
      insert into admin_actions (id, actor, action, details, happened_at)
      values (${idFrom(30.01)}, 'ann', 'tenant.create', '{}', now() - interval '29.99 days')
    `

    expect(await round()).toMatchObject({ audit_records: 0 })
  })

  test("deletes the provider's events from the inbox", async () => {
    const { sql } = t.engine.store
    await sql`
      insert into provider_events (provider, id, type, object_id, status, occurred_at, settled_at)
      select 'stripe', 'evt_' || days, 'charge.updated', 'ch_1', 'ignored', now(),
        now() - days * interval '1 day'
      from unnest('{89,91}'::int[]) as days
    `

    expect(await round({ INBOX_RETENTION_DAYS: 0 })).toMatchObject({ provider_events: 0 })
    expect(await round()).toMatchObject({ provider_events: 1 })
  })

  test('of several workers deletes each record once', async () => {
    await finished()
    const entries = await age('phase_runs', 31)

    const rounds = await Promise.all([round(), round(), round()])

    const deleted = rounds.reduce((sum, { timeline_entries: count }) => sum + count, 0)
    expect(deleted).toBe(entries)
  })
})

test('0 days keep everything for ever', async () => {
  await finished()
  await age('phase_runs', 36_000)

  expect(await round({ TIMELINE_RETENTION_DAYS: 0 })).toMatchObject({ timeline_entries: 0 })
})

test.each(['deliveries', 'phase_runs', 'events', 'admin_actions'])(
  'neither the service nor the owner can delete %s of the last day',
  async (records) => {
    await delivery(await finished(), 'failed', 0)
    await appendAdminAction(t.engine.store.sql, {
      actor: 'ann',
      action: 'tenant.create',
      subject: null,
      details: {},
    })
    const tables = ['webhook_deliveries', 'phase_runs', 'events', 'admin_actions'] as const
    const before = await Promise.all(tables.map((table) => countIn(table)))

    for (const [{ sql }, name] of [
      [service, `delete_old_${records}`],
      [t.engine.store, `delete_${records}_before`],
    ] as const) {
      const deleted = await inService(sql, async (tx) => {
        return await tx.unsafe(`select ${name}(now() + interval '1 day', 100)::int as count`)
      })
      expect([...deleted]).toEqual([{ count: 0 }])
    }
    expect(before).not.toContain(0)
    expect(await Promise.all(tables.map((table) => countIn(table)))).toEqual(before)
  },
)

const deletedByService = async (records: string, days: number): Promise<number> =>
  await inService(service.sql, async (tx) => {
    const [row] = await tx.unsafe<{ count: number }[]>(
      `select delete_old_${records}(now() - interval '${days} days', 100)::int as count`,
    )
    return row?.count ?? 0
  })

describe('an intruder with the rights of the service', () => {
  const action = { actor: 'mallory', action: 'tenant.create', subject: null, details: {} }

  test.each([
    ['for ever', 0],
    ['for 60 days', 60],
  ])('cannot delete an audit trail that the owner keeps %s', async (_, days) => {
    const { sql } = t.engine.store
    await sql`truncate admin_actions`
    await appendAdminAction(sql, action)
    await age('admin_actions', 40)
    await storeRetention(sql, { ...settings, AUDIT_RETENTION_DAYS: days })

    expect(await deletedByService('admin_actions', 2)).toBe(0)
    expect(await round({ AUDIT_RETENTION_DAYS: 3 })).toMatchObject({ audit_records: 0 })
    expect(await countIn('admin_actions')).toBe(1)

    await storeRetention(sql, settings)
    expect(await deletedByService('admin_actions', 2)).toBe(1)
  })

  test.each(['deliveries', 'phase_runs', 'events', 'admin_actions'] as const)(
    'deletes no %s that the owner keeps for longer, or while it has stored no time',
    async (records) => {
      const { sql } = t.engine.store
      await sql`truncate webhook_endpoints, webhook_deliveries, webhook_attempts, events`
      const ref = await finished()
      await appendAdminAction(sql, action)
      if (records === 'deliveries') await delivery(ref, 'failed', 31)
      else await age(records, 31)

      await storeRetention(sql, longer)
      expect(await deletedByService(records, 2)).toBe(0)
      await sql`delete from retention_periods`
      expect(await deletedByService(records, 2)).toBe(0)

      await storeRetention(sql, settings)
      expect(await deletedByService(records, 2)).toBeGreaterThan(0)
    },
  )

  test.each([
    [
      'the time',
      `insert into admin_actions (id, actor, action, details, happened_at)
       values (next_id('admin_actions', '00000000-0000-0000-0000-000000000000'), 'm', 'x', '{}', '2020-01-01')`,
      '42501',
    ],
    [
      'the id',
      `insert into admin_actions (id, actor, action, details)
       values ('${idFrom(400)}', 'm', 'x', '{}')`,
      '23514',
    ],
    [
      'the time of an event',
      `insert into events (tenant_id, id, type, object, created_at)
       select id, gen_random_uuid(), 'x', '{}', '2020-01-01' from tenants`,
      '42501',
    ],
    [
      'the time of an entry of the ledger',
      `insert into ledger_postings (created_at) values ('2020-01-01')`,
      '42501',
    ],
    [
      'the time of an entry of a timeline',
      `insert into phase_runs (recorded_at) values ('2020-01-01')`,
      '42501',
    ],
    ['the retention', `update retention_periods set days = 1`, '42501'],
    ['a payment, by deleting it', `delete from payments`, '42501'],
    [
      'the audit trail, by the function behind',
      `select delete_admin_actions_before(now(), 9)`,
      '42501',
    ],
  ])('cannot forge %s', async (_, statement, code) => {
    const forged = inService(service.sql, async (tx) => {
      await tx.unsafe(statement)
    })

    await expect(forged).rejects.toMatchObject({ code })
  })
})
