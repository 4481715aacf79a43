// The statements on finished keys by day: copied out of idempotency_keys, replayed from there, and dropped a
// day at a time. A key is moved in two steps, and a day is dropped in two steps, for the same reason for
// which a key is deleted in two (expired-keys.ts): no statement that began before the copy, or before the
// tombstone, may find the key gone.
import postgres from 'postgres'
import type { ExpiryCursor } from './expired-keys.ts'
import type { Fragment, Sql, Transaction } from './client.ts'
import { keyHash } from './key-tombstones.ts'
import { seesEveryTenant, seesTenant } from './row-security.ts'
import { isAlreadyThere } from './store-errors.ts'
import { inTransaction } from './transaction.ts'

/**
 * The columns of a finished key, as those of `idempotency_keys`. Whether keys are kept by day is not
 * asked by who looks for one: a process with an older setting would execute it again. With no day
 * there, Postgres leaves the table out when it plans the statement.
 */
export const finishedColumns = (sql: Sql | Transaction): Fragment => sql`
  tenant_id, id, key, fingerprint, operation, payment_id, refund_id, 'completed', 'finished',
  attempts, created_at, expires_at, earlier, response_status, response_headers, response_body
`

/** A part of a statement: the finished key of that name has no row by day. */
export function isNotFinished(
  sql: Sql | Transaction,
  { tenantId, key }: { readonly tenantId: string; readonly key: string },
): Fragment {
  return sql`
    not exists (select from finished_keys where tenant_id = ${tenantId} and key = ${key})
  `
}

/** A part of a statement that looks for a key: its row by day, unless the row it was copied from is there. */
export function selectMoved(
  sql: Sql | Transaction,
  { tenantId, key }: { readonly tenantId: string; readonly key: string },
): Fragment {
  return sql`
    from finished_keys
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and key = ${key} and not exists (
      select from idempotency_keys where tenant_id = ${tenantId} and key = ${key}
    )
  `
}

/** Which keys are moved: how long they last, and for how long they have been finished. */
export interface Movable {
  readonly limit: number
  readonly retentionSeconds: number
  readonly finishedForSeconds: number
}

/** In the order of the index on what expires: a key that has expired is left to the reaper. */
const movable = (sql: Sql, { retentionSeconds, finishedForSeconds }: Movable) => sql`
  status = 'completed' and expires_at > now()
  and expires_at < now() + ${retentionSeconds - finishedForSeconds} * interval '1 second'
  and finished_at < now() - ${finishedForSeconds} * interval '1 second'
`

const START = {
  expiresAt: '-infinity',
  tenantId: '00000000-0000-0000-0000-000000000000',
  id: '00000000-0000-0000-0000-000000000000',
}

/** Looked up key by key: the limit keeps Postgres from going through whole days for one batch. */
const copyOfFinished = (sql: Sql): Fragment => sql`(
  select response_body as body, copied_at as copied from finished_keys
  where tenant_id = finished.tenant_id and key = finished.key
    and expires_at = finished.expires_at and id = finished.id
  limit 1
) as copy`

/** Copies finished keys to their days, looking at the next `limit` behind the cursor. */
export async function copyFinished(
  sql: Sql,
  which: Movable,
  after: ExpiryCursor = START,
): Promise<{ copied: number; next: ExpiryCursor | undefined }> {
  const [row] = await sql<{ looked_at: number; copied: number; last: ExpiryCursor | null }[]>`
    with finished as materialized (
      select * from idempotency_keys
      where ${movable(sql, which)}
        and (expires_at, tenant_id, id)
          > (${after.expiresAt}::timestamptz, ${after.tenantId}::uuid, ${after.id}::uuid)
      order by expires_at, tenant_id, id
      limit ${which.limit}
    ),
    copied as (
      insert into finished_keys (
        tenant_id, id, key, fingerprint, operation, payment_id, refund_id, attempts, created_at,
        finished_at, expires_at, earlier, response_status, response_headers, response_body
      )
      select
        tenant_id, id, key, fingerprint, operation, payment_id, refund_id, attempts, created_at,
        finished_at, expires_at, earlier, response_status, response_headers, response_body
      from finished
      left join lateral ${copyOfFinished(sql)} on true
      where copy.body is distinct from response_body
      order by expires_at, tenant_id, id
      -- An operator may have dropped the response meanwhile: the copy must not bring it back.
      on conflict (tenant_id, key, expires_at) do update set
        response_status = excluded.response_status,
        response_headers = excluded.response_headers,
        response_body = excluded.response_body,
        copied_at = now()
      where finished_keys.response_body <> excluded.response_body
      returning 1
    )
    select
      (select count(*)::int from finished) as looked_at,
      (select count(*)::int from copied) as copied,
      (
        select jsonb_build_object('expiresAt', expires_at::text, 'tenantId', tenant_id, 'id', id)
        from finished order by expires_at desc, tenant_id desc, id desc limit 1
      ) as last
    where ${seesEveryTenant(sql)}
  `
  if (row === undefined) throw new Error('a count returned no row')
  const more = row.looked_at === which.limit
  return { copied: row.copied, next: more ? (row.last ?? undefined) : undefined }
}

/** Deletes keys whose copy is as old as it has to be, looking at the `limit` that expire first. */
export async function deleteIfCopied(
  sql: Sql,
  which: Movable & { readonly statementTimeoutMs: number },
): Promise<number> {
  const { count } = await sql`
    with finished as materialized (
      select tenant_id, id, key, expires_at from idempotency_keys
      where ${movable(sql, which)}
      order by expires_at
      limit ${which.limit}
    ),
    copied as materialized (
      select finished.tenant_id, finished.id, copy.body
      from finished
      cross join lateral ${copyOfFinished(sql)}
      where copy.copied < now() - 2 * ${which.statementTimeoutMs} * interval '1 millisecond'
      order by finished.tenant_id, finished.id
    )
    delete from idempotency_keys
    using copied
    where ${seesEveryTenant(sql)}
      and idempotency_keys.tenant_id = copied.tenant_id and idempotency_keys.id = copied.id
      and idempotency_keys.status = 'completed'
      and idempotency_keys.response_body = copied.body
  `
  return count
}

/** Makes the days, from today on, that are not there yet. Days are those of UTC. */
export async function makeDays(sql: Sql, days: number): Promise<number> {
  try {
    return await makeMissingDays(sql, days)
  } catch (error) {
    // Another worker has just made one of them, and PostgreSQL came upon its type before its table.
    if (!isAlreadyThere(error)) throw error
    return await makeDays(sql, days)
  }
}

async function makeMissingDays(sql: Sql, days: number): Promise<number> {
  const rows = await sql<{ made: boolean }[]>`
    select make_finished_keys_day(day) as made
    from (
      select (now() at time zone 'UTC')::date + number as day
      from generate_series(0, ${days - 1}::int) as number
    ) as wanted
    where to_regclass('public.finished_keys_' || to_char(day, 'YYYYMMDD')) is null
  `
  return rows.filter(({ made }) => made).length
}

/** A day all of whose keys have expired. */
export interface ExpiredDay {
  /** As YYYY-MM-DD. */
  readonly day: string
  /** Whether all of its keys are known to have tombstones. */
  readonly buried: boolean
  /** Whether that is so for longer than any statement runs. */
  readonly settled: boolean
}

export async function findExpiredDays(sql: Sql, statementTimeoutMs: number): Promise<ExpiredDay[]> {
  return await sql<ExpiredDay[]>`
    select
      expired.day::text as day,
      burial.day is not null as buried,
      coalesce(
        burial.buried_at < now() - 2 * ${statementTimeoutMs} * interval '1 millisecond', false
      ) as settled
    from (
      select to_date(right(relname, 8), 'YYYYMMDD') as day
      from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = 'finished_keys'::regclass
    ) as expired
    left join finished_key_burials as burial on burial.day = expired.day
    where (expired.day + 1)::timestamp at time zone 'UTC' <= now()
    order by expired.day
  `
}

/** One statement for a whole day, once a day: it holds up nobody, and may take its time. */
const DAY_TIMEOUT = '10min'

/** Any number will do, as long as nobody else takes the same pair of locks. */
const BURIAL_LOCK = 7_261_044

/**
 * Writes the tombstones of a whole day, and then, when they are committed, that it is done. Returns how
 * many keys got one; undefined while another process is at it.
 */
export async function buryDay(sql: Sql, day: string): Promise<number | undefined> {
  const buried = await inTransaction(sql, async (tx) => {
    await tx`select set_config('statement_timeout', ${DAY_TIMEOUT}, true)`
    const [lock] = await tx<{ held: boolean }[]>`
      select pg_try_advisory_xact_lock(${BURIAL_LOCK}, ${day}::date - '2000-01-01'::date) as held
    `
    return lock?.held === true ? await insertTombstones(tx, day) : undefined
  })
  if (buried === undefined) return undefined
  await sql`
    insert into finished_key_burials (day) values (${day}::date) on conflict (day) do nothing
  `
  return buried
}

async function insertTombstones(tx: Transaction, day: string): Promise<number> {
  const { count } = await tx`
    insert into key_tombstones (tenant_id, key_hash, payment_id, refund_id, location, expired_at)
    select
      tenant_id, ${keyHash(tx, tx`key`)}, payment_id, refund_id,
      case when payment_id is null then response_headers ->> 'location' end, expires_at
    from finished_keys
    where ${seesEveryTenant(tx)}
      and expires_at >= ${day}::date::timestamp at time zone 'UTC'
      and expires_at < (${day}::date + 1)::timestamp at time zone 'UTC'
    on conflict (tenant_id, key_hash) do update set
      payment_id = excluded.payment_id,
      refund_id = excluded.refund_id,
      location = excluded.location,
      expired_at = excluded.expired_at,
      buried_at = now()
    where key_tombstones.buried_at < excluded.expired_at
  `
  return count
}

const NOT_IN_PREREQUISITE_STATE = '55000'

/**
 * Drops a day that is buried for long enough. Returns how many keys it held; undefined when Postgres has
 * found one of them without a tombstone: then the day is buried anew.
 *
 * @throws the driver's error when the lock was not to be had in time; it is tried again later.
 */
export async function dropDayIfBuried(
  sql: Sql,
  day: string,
  statementTimeoutMs: number,
): Promise<number | undefined> {
  try {
    return await inTransaction(sql, async (tx) => {
      await tx`select set_config('statement_timeout', ${DAY_TIMEOUT}, true)`
      const [row] = await tx<{ keys: string }[]>`
        select drop_finished_keys_day(
          ${day}::date, 2 * ${statementTimeoutMs} * interval '1 millisecond'
        ) as keys
        where ${seesEveryTenant(tx)}
      `
      return Number(row?.keys)
    })
  } catch (error) {
    const refused =
      error instanceof postgres.PostgresError && error.code === NOT_IN_PREREQUISITE_STATE
    if (!refused) throw error
    await sql`delete from finished_key_burials where day = ${day}::date`
    return undefined
  }
}
