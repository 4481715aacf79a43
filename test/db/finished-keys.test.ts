// Finished keys by day, on a real database: how they are moved and found again, how their days are made
// and dropped, and what Postgres refuses the service.
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import pino from 'pino'
import { openStore, type Sql, type Store } from '../../src/db/client.ts'
import {
  buryDay,
  copyFinished,
  deleteIfCopied,
  dropDayIfBuried,
  findExpiredDays,
  makeDays,
} from '../../src/db/finished-keys.ts'
import { findIdempotencyKey } from '../../src/db/idempotency-keys.ts'
import { findEarlierUse } from '../../src/db/key-tombstones.ts'
import { doOnce } from '../../src/db/local-operations.ts'
import { SERVICE_ROLE } from '../../src/db/service-role.ts'
import { archiveKeys, type ArchiverSettings } from '../../src/operations/archive-keys.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  claimOrThrow,
  countRows,
  finish,
  makeTenant,
  openTestStore,
  pendingOperation,
  reservationOf,
  reserve,
  response,
  RETENTION_SECONDS,
} from './reservations.ts'

const TIMEOUT_MS = 1_000
const which = { limit: 100, retentionSeconds: RETENTION_SECONDS, finishedForSeconds: 3_600 }
const settled = { ...which, statementTimeoutMs: TIMEOUT_MS }
const settings: ArchiverSettings = {
  KEY_PARTITIONS: 'daily',
  KEY_RETENTION_SECONDS: RETENTION_SECONDS,
  REAP_BATCH_SIZE: 2,
  STORE_TIMEOUT_MS: TIMEOUT_MS,
}

let database: TestDatabase
let owner: Store
/** The service does everything here under its role; what a test needs to be so, its owner does. */
let store: Store
let sql: Sql

beforeAll(async () => {
  database = await createTestDatabase()
  owner = openTestStore(database.url, 2)
  store = openStore({
    url: database.url,
    applicationName: 'test service',
    poolSize: 6,
    timeoutMs: 20_000,
    role: SERVICE_ROLE,
  })
  sql = store.sql
})
beforeEach(async () => {
  for (const table of await days()) await owner.sql`drop table ${owner.sql(table)}`
  await owner.sql`delete from idempotency_keys`
  await owner.sql`delete from key_tombstones`
  await owner.sql`delete from finished_key_burials`
})
afterAll(async () => {
  await store.close()
  await owner.close()
  await database.drop()
})

const days = async () => {
  const rows = await owner.sql<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits
    where inhparent = 'finished_keys'::regclass order by name
  `
  return rows.map(({ name }) => name)
}

/** A completed key that was finished two hours ago. */
async function finishedKey(key: string = randomUUID(), seconds = 7_200) {
  const tenantId = await makeTenant(owner)
  const reservation = reservationOf(tenantId, { key })
  await reserve(sql, reservation)
  await finish(store, await claimOrThrow(sql, { tenantId, id: reservation.id }))
  await owner.sql`
    update idempotency_keys set
      finished_at = finished_at - ${seconds} * interval '1 second',
      expires_at = expires_at - ${seconds} * interval '1 second'
    where id = ${reservation.id}
  `
  return reservation
}

/** As if the copies had been there for an hour. */
const ageCopies = () => owner.sql`update finished_keys set copied_at = now() - interval '1 hour'`

/** A key that is kept by day alone. */
async function movedKey(key?: string) {
  const reservation = await finishedKey(key)
  const before = await findIdempotencyKey(sql, reservation.tenantId, reservation.key)
  await makeDays(sql, 3)
  await copyFinished(sql, which)
  await ageCopies()
  expect(await deleteIfCopied(sql, settled)).toBe(1)
  return { reservation, before }
}

/** A key whose day is over: the day before yesterday, which the service could not make any more. */
async function expiredKey(key?: string) {
  const { reservation } = await movedKey(key)
  await owner.sql`
    do $$ declare day date := (now() at time zone 'UTC')::date - 2; begin
      execute format(
        'create table if not exists %I partition of finished_keys for values from (%L) to (%L)',
        'finished_keys_' || to_char(day, 'YYYYMMDD'),
        day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC'
      );
    end $$
  `
  await owner.sql`
    update finished_keys set
      expires_at = (date_trunc('day', now() at time zone 'UTC') - interval '30 hours')
        at time zone 'UTC'
    where id = ${reservation.id}
  `
  const [day = { day: '' }] = await findExpiredDays(sql, TIMEOUT_MS)
  return { reservation, day: day.day }
}

const ageBurials = () =>
  owner.sql`update finished_key_burials set buried_at = now() - interval '1 hour'`

describe('days', () => {
  test('are made ahead, each once, also by several at once', async () => {
    const made = await Promise.all([makeDays(sql, 3), makeDays(sql, 3), makeDays(sql, 3)])
    const again = await makeDays(sql, 4)

    expect(made.reduce((all, one) => all + one, 0)).toBe(3)
    expect(again).toBe(1)
    expect(await days()).toHaveLength(4)
  })

  test('are not made for the past', async () => {
    const made = sql`select make_finished_keys_day((now() at time zone 'UTC')::date - 1)`

    await expect(made).rejects.toMatchObject({ code: '55000' })
  })

  test('are made and dropped by two functions alone, which nobody else may call', async () => {
    const grants = await owner.sql`
      select proname, proacl::text from pg_proc where proname like '%_finished_keys_day'
      order by proname
    `
    for (const { proacl } of grants) {
      expect(proacl).toContain(`${SERVICE_ROLE}=X/`)
      expect(proacl).not.toMatch(/[{,]=X/)
    }
    expect(grants).toHaveLength(2)
    await makeDays(sql, 1)
    const [day = ''] = await days()
    for (const statement of [`drop table ${day}`, `truncate ${day}`, 'drop table finished_keys']) {
      await expect(sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' })
    }
  })
})

describe('moving a finished key', () => {
  test('copies it first and deletes it when the copy is old enough', async () => {
    const { tenantId, id } = await finishedKey()
    await makeDays(sql, 3)

    expect(await copyFinished(sql, which)).toEqual({ copied: 1, next: undefined })
    expect(await copyFinished(sql, which)).toEqual({ copied: 0, next: undefined })
    expect(await deleteIfCopied(sql, settled)).toBe(0)
    await ageCopies()
    expect(await deleteIfCopied(sql, settled)).toBe(1)

    expect(await countRows(owner.sql, 'idempotency_keys', tenantId)).toBe(0)
    expect(await owner.sql`select id from finished_keys`).toEqual([{ id }])
  })

  test('leaves alone what was finished a moment ago, what has expired and what is not finished', async () => {
    await makeDays(sql, 3)
    await finishedKey(randomUUID(), 60)
    await finishedKey(randomUUID(), RETENTION_SECONDS + 1)
    const ref = await pendingOperation(owner)
    await owner.sql`
      update idempotency_keys set expires_at = expires_at - interval '2 hours' where id = ${ref.id}
    `

    expect(await copyFinished(sql, which)).toMatchObject({ copied: 0 })
    expect(await owner.sql`select from finished_keys`).toHaveLength(0)
  })

  test('changes nothing for a retry: the same row, byte for byte', async () => {
    const { reservation, before } = await movedKey()
    const { tenantId, key } = reservation

    const retried = await reserve(sql, reservationOf(tenantId, { key }))

    expect(before).toMatchObject({ id: reservation.id, status: 'completed', response })
    expect(retried).toEqual(before)
    expect(await findIdempotencyKey(sql, tenantId, key)).toEqual(before)
    expect(await countRows(owner.sql, 'idempotency_keys', tenantId)).toBe(0)
    expect(await countRows(owner.sql, 'payments', tenantId)).toBe(1)
  })

  test('shows a retry with another body whose fingerprint the key has', async () => {
    const { reservation } = await movedKey()
    const { tenantId, key, fingerprint } = reservation

    const misused = await reserve(
      sql,
      reservationOf(tenantId, { key, fingerprint: randomBytes(32) }),
    )

    expect(misused.id).toBe(reservation.id)
    expect(misused.fingerprint).toEqual(fingerprint)
  })

  test('does not bring back a response that was dropped after the copy was made', async () => {
    const { tenantId, id, key } = await finishedKey()
    await makeDays(sql, 3)
    await copyFinished(sql, which)
    await owner.sql`update idempotency_keys set response_body = 'dropped' where id = ${id}`
    await ageCopies()

    const between = await reserve(sql, reservationOf(tenantId, { key }))
    expect(await deleteIfCopied(sql, settled)).toBe(0)
    expect(await copyFinished(sql, which)).toMatchObject({ copied: 1 })
    await ageCopies()
    expect(await deleteIfCopied(sql, settled)).toBe(1)

    expect(between.response?.body).toBe('dropped')
    const after = await findIdempotencyKey(sql, tenantId, key)
    expect(after).toMatchObject({ id, response: { body: 'dropped' } })
  })

  test('keeps a local operation from being done again', async () => {
    const { reservation } = await movedKey()
    const { tenantId, key } = reservation
    let done = false

    const retried = await doOnce(
      sql,
      {
        tenantId,
        id: randomUUID(),
        key,
        fingerprint: randomBytes(32),
        operation: 'webhook_endpoint.create',
        retentionSeconds: RETENTION_SECONDS,
        expiredKeys: 'new',
      },
      () => {
        done = true
        return Promise.resolve(response)
      },
    )

    expect(done).toBe(false)
    expect(retried.id).toBe(reservation.id)
  })

  test('does not touch the same key of another tenant', async () => {
    await movedKey('order-1')
    const other = reservationOf(await makeTenant(owner), { key: 'order-1' })

    expect((await reserve(sql, other)).id).toBe(other.id)
  })
})

describe('a day that is over', () => {
  test('is found once all of its keys have expired, and not before', async () => {
    await makeDays(sql, 2)
    expect(await findExpiredDays(sql, TIMEOUT_MS)).toEqual([])

    const { day } = await expiredKey()

    expect(await findExpiredDays(sql, TIMEOUT_MS)).toEqual([{ day, buried: false, settled: false }])
  })

  test('is buried, and later dropped, and its keys are known by their tombstones', async () => {
    const { reservation, day } = await expiredKey()
    const { tenantId, key, paymentId } = reservation

    expect(await buryDay(sql, day)).toBe(1)
    const replayed = await reserve(sql, reservationOf(tenantId, { key }))
    await ageBurials()
    expect(await dropDayIfBuried(sql, day, TIMEOUT_MS)).toBe(1)
    const second = await reserve(sql, reservationOf(tenantId, { key }))

    expect(replayed.id).toBe(reservation.id)
    expect(second).toMatchObject({ status: 'pending', earlier: { paymentId } })
    expect(await findEarlierUse(sql, tenantId, key)).toMatchObject({ paymentId })
    expect(await findExpiredDays(sql, TIMEOUT_MS)).toEqual([])
    expect(await owner.sql`select from finished_key_burials`).toHaveLength(0)
  })

  test.each([
    [
      'not over',
      'keys of .* have not all expired',
      async () => {
        await makeDays(sql, 1)
        const [row] = await sql<{ day: string }[]>`
        select (now() at time zone 'UTC')::date::text as day
      `
        await sql`insert into finished_key_burials values (${row?.day ?? ''}, '2020-01-01')`
        return row?.day ?? ''
      },
    ],
    ['not buried', 'not buried for that long', async () => (await expiredKey()).day],
    [
      'buried a moment ago',
      'not buried for that long',
      async () => {
        const { day } = await expiredKey()
        await buryDay(sql, day)
        return day
      },
    ],
    [
      'said to be buried, and is not',
      '1 keys of .* have no tombstone',
      async () => {
        const { day } = await expiredKey()
        await sql`insert into finished_key_burials values (${day}, '2020-01-01')`
        return day
      },
    ],
  ])('is not dropped by the service when it is %s', async (_, reason, make) => {
    const day = await make()
    const before = await days()

    const dropped = sql`select drop_finished_keys_day(${day}::date, '2 seconds')`

    await expect(dropped).rejects.toMatchObject({
      code: '55000',
      message: expect.stringMatching(reason) as unknown,
    })
    expect(await days()).toEqual(before)
  })

  test('is buried anew when one of its tombstones is gone', async () => {
    const { day } = await expiredKey()
    await buryDay(sql, day)
    await ageBurials()
    await owner.sql`delete from key_tombstones`

    expect(await dropDayIfBuried(sql, day, TIMEOUT_MS)).toBeUndefined()
    expect(await findExpiredDays(sql, TIMEOUT_MS)).toMatchObject([{ day, buried: false }])
    expect(await buryDay(sql, day)).toBe(1)
  })

  test('that is read at this moment is not waited for long, and dropped later', async () => {
    const { day } = await expiredKey()
    await buryDay(sql, day)
    await ageBurials()

    await owner.sql.begin(async (tx) => {
      await tx`select from finished_keys`
      await expect(dropDayIfBuried(sql, day, TIMEOUT_MS)).rejects.toMatchObject({ code: '55P03' })
    })

    expect(await dropDayIfBuried(sql, day, TIMEOUT_MS)).toBe(1)
  })
})

describe('rounds of the archiver', () => {
  const round = (own: Partial<ArchiverSettings> = {}) =>
    archiveKeys({ store, log: pino({ level: 'silent' }) }, { ...settings, ...own })
  const nothing = { copied: 0, moved: 0, days_buried: 0, days_dropped: 0 }

  test('make days, copy, move, bury and drop, in as many batches as it takes', async () => {
    for (let count = 0; count < 5; count += 1) await finishedKey()

    expect(await round()).toEqual({ ...nothing, copied: 5 })
    expect(await round()).toEqual(nothing)
    await ageCopies()
    expect(await round()).toEqual({ ...nothing, moved: 5 })
    // A retention of a day, the rest of today, and two days more.
    expect(await days()).toHaveLength(3)

    await expiredKey()
    expect(await round()).toEqual({ ...nothing, days_buried: 1 })
    await ageBurials()
    expect(await round()).toEqual({ ...nothing, days_dropped: 1 })
  })

  test('move nothing and make no day when keys are not kept by day', async () => {
    await finishedKey()

    expect(await round({ KEY_PARTITIONS: 'off' })).toEqual(nothing)
    expect(await days()).toEqual([])
  })

  test('still drop the days that are left when keys are kept by day no longer', async () => {
    await expiredKey()
    await round({ KEY_PARTITIONS: 'off' })
    await ageBurials()

    expect(await round({ KEY_PARTITIONS: 'off' })).toEqual({ ...nothing, days_dropped: 1 })
  })

  test('several at once copy and move each key once', async () => {
    for (let count = 0; count < 7; count += 1) await finishedKey()
    await makeDays(sql, 3)

    const copying = await Promise.all([round(), round(), round()])
    await ageCopies()
    const moving = await Promise.all([round(), round(), round()])

    const sum = (counts: number[]) => counts.reduce((all, one) => all + one, 0)
    expect(sum(copying.map(({ copied }) => copied))).toBe(7)
    expect(sum(moving.map(({ moved }) => moved))).toBe(7)
  })
})

test('without a day, looking for a finished key costs a statement nothing', async () => {
  const plan = await sql`
    explain (format json)
    select from finished_keys where tenant_id = ${randomUUID()} and key = 'order-1'
  `

  expect(JSON.stringify(plan)).toContain('"One-Time Filter":"false"')
})
