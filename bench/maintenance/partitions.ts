// Forgetting the same number of keys in the two ways that the service offers: by batches, and as a day of
// finished keys, which have to be moved to their day first. The API is under load meanwhile; the log that
// is counted is that of the one connection that does the work.
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../../src/config.ts'
import { openStore, type Sql } from '../../src/db/client.ts'
import { buryExpired, deleteIfBuried, type ExpiryCursor } from '../../src/db/expired-keys.ts'
import {
  buryDay,
  copyFinished,
  deleteIfCopied,
  dropDayIfBuried,
  makeDays,
} from '../../src/db/finished-keys.ts'
import { SERVICE_ROLE } from '../../src/db/service-role.ts'
import { isStoreUnavailable } from '../../src/db/store-errors.ts'
import { startLoad, type Target } from './load.ts'
import type { Progress } from '../progress.ts'
import { ensureExpired } from '../seed.ts'
import { rounded, spreadOf, timed, type Spread } from '../spread.ts'

export interface Step {
  readonly way: 'by batches' | 'by days'
  readonly what: string
  readonly keys: number
  readonly seconds: number
  readonly walBytes: number
  /** Of the tables that hold the keys, with their indexes. */
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** All answers of the API meanwhile, and until the load has gone on for a second. */
  readonly api: Spread
}

export interface PartitionParts {
  readonly owner: Sql
  readonly databaseUrl: string
  readonly config: Config
  readonly target: Target
  readonly keys: number
  readonly progress: Progress
}

const KEYS_MAX = 200_000

/** So many of the seeded keys at least have been finished for more than an hour and have not expired. */
const SHARE = 0.15

/** Nobody uses the keys meanwhile, so that what is buried or copied may go at once. */
const AT_ONCE_MS = 0

const LOAD_SECONDS_MIN = 1
const DROP_PAUSE_MS = 200

export async function comparePartitions(parts: PartitionParts): Promise<Step[]> {
  const one = {
    url: parts.databaseUrl,
    applicationName: 'atomic-payments bench worker',
    // One connection, because its share of the log is measured.
    poolSize: 1,
  }
  const timeoutMs = parts.config.STORE_TIMEOUT_MS
  const worker = openStore({ ...one, timeoutMs, role: SERVICE_ROLE })
  const vacuumer = openStore({ ...one, timeoutMs: VACUUM_TIMEOUT_MS })
  try {
    return await measureSteps(parts, worker.sql, vacuumer.sql)
  } finally {
    await worker.close()
    await vacuumer.close()
  }
}

async function measureSteps(parts: PartitionParts, worker: Sql, vacuumer: Sql): Promise<Step[]> {
  const { owner, config, progress } = parts
  const limit = config.REAP_BATCH_SIZE
  const batches = Math.floor(Math.min(KEYS_MAX, parts.keys * SHARE) / limit)
  const keys = batches * limit
  const progressed = progress.begin('Reaping by batches and by days', STEPS)
  const steps: Step[] = []
  const step = async (way: Step['way'], what: string, work: (sql: Sql) => Promise<unknown>) => {
    const sql = work === vacuum ? vacuumer : worker
    steps.push(await measureStep(parts, sql, { way, what, keys, work }))
    progressed(steps.length)
  }

  await ensureExpired(owner, parts.target.tenants, keys)
  await step('by batches', 'bury and delete', (sql) => reap(sql, { limit, batches }))
  await step('by batches', 'vacuum', vacuum)
  await makeDays(worker, 2)
  await step('by days', 'copy and delete', (sql) => move(sql, config, batches))
  await step('by days', 'vacuum', vacuum)
  const day = await makePastDay(owner, keys)
  await step('by days', 'bury the day', (sql) => buryDay(sql, day))
  await step('by days', 'drop the day', (sql) => drop(sql, day))
  return steps
}

const STEPS = 6

/** Deleted rows are gone for good, and their room is free, no sooner than that. */
const vacuum = (sql: Sql) => sql`vacuum idempotency_keys`

const VACUUM_TIMEOUT_MS = 3_600_000

interface Work {
  readonly way: Step['way']
  readonly what: string
  readonly keys: number
  readonly work: (sql: Sql) => Promise<unknown>
}

async function measureStep(
  { owner, target }: PartitionParts,
  sql: Sql,
  { way, what, keys, work }: Work,
): Promise<Step> {
  await owner`checkpoint`
  const bytesBefore = await readTableBytes(owner)
  const load = startLoad(target)
  await delay(LOAD_SECONDS_MIN * 1_000)
  const walBefore = await readWalBytes(sql)
  const { ms } = await timed(() => work(sql))
  const walBytes = (await readWalBytes(sql)) - walBefore
  await delay(LOAD_SECONDS_MIN * 1_000)
  const { acceptMs, getMs } = await load.stop()
  return {
    way,
    what,
    keys,
    seconds: rounded(ms / 1_000),
    walBytes,
    bytesBefore,
    bytesAfter: await readTableBytes(owner),
    api: spreadOf([...acceptMs, ...getMs]),
  }
}

async function reap(
  worker: Sql,
  { limit, batches }: { limit: number; batches: number },
): Promise<void> {
  let after: ExpiryCursor | undefined
  for (let number = 1; number <= batches; number += 1) {
    after = (await buryExpired(worker, { limit, after })).next
  }
  for (let number = 1; number <= batches; number += 1) {
    await deleteIfBuried(worker, { limit, statementTimeoutMs: AT_ONCE_MS })
  }
}

async function move(worker: Sql, config: Config, batches: number): Promise<void> {
  const which = {
    limit: config.REAP_BATCH_SIZE,
    retentionSeconds: config.KEY_RETENTION_SECONDS,
    finishedForSeconds: 3_600,
  }
  let after: ExpiryCursor | undefined
  for (let number = 1; number <= batches; number += 1) {
    after = (await copyFinished(worker, which, after)).next
    if (after === undefined && number < batches) throw new Error(`only ${number} batches to copy`)
  }
  for (let number = 1; number <= batches; number += 1) {
    await deleteIfCopied(worker, { ...which, statementTimeoutMs: AT_ONCE_MS })
  }
}

/** The service retries a drop that did not get its lock in time with its next round. */
async function drop(worker: Sql, day: string): Promise<void> {
  for (;;) {
    try {
      if ((await dropDayIfBuried(worker, day, AT_ONCE_MS)) === undefined) {
        throw new Error('the day was not buried')
      }
      return
    } catch (error) {
      if (!isStoreUnavailable(error)) throw error
      await delay(DROP_PAUSE_MS)
    }
  }
}

/** Yesterday, as if its keys had been moved to it in time: the service makes no day that is over. */
async function makePastDay(owner: Sql, keys: number): Promise<string> {
  const [row] = await owner<{ day: string; partition: string; begins: string; ends: string }[]>`
    select
      day::text as day, 'finished_keys_' || to_char(day, 'YYYYMMDD') as partition,
      (day::timestamp at time zone 'UTC')::text as begins,
      ((day + 1)::timestamp at time zone 'UTC')::text as ends
    from (select (now() at time zone 'UTC')::date - 1 as day) as yesterday
  `
  if (row === undefined) throw new Error('there was no yesterday')
  const { day, partition, begins, ends } = row
  await owner.unsafe(`
    create table ${partition} (like finished_keys including all);
    alter table finished_keys attach partition ${partition} for values from ('${begins}') to ('${ends}');
  `)
  await owner`
    insert into finished_keys
    select
      tenant_id, id, 'moved-' || key, fingerprint, operation, payment_id, refund_id, attempts,
      created_at, finished_at, ${begins}::timestamptz + random() * interval '23 hours', earlier,
      response_status, response_headers, response_body, ${begins}::timestamptz
    from idempotency_keys where status = 'completed'
    limit ${keys}
  `
  await owner`analyze finished_keys`
  return day
}

/** What the connection has written to the log so far. */
async function readWalBytes(sql: Sql): Promise<number> {
  await sql`select pg_stat_force_next_flush()`
  const [row] = await sql<{ bytes: string }[]>`
    select wal_bytes::text as bytes from pg_stat_get_backend_wal(pg_backend_pid())
  `
  return Number(row?.bytes)
}

async function readTableBytes(owner: Sql): Promise<number> {
  const [row] = await owner<{ bytes: string }[]>`
    select (
      pg_total_relation_size('idempotency_keys')
        + (select sum(pg_total_relation_size(relid)) from pg_partition_tree('finished_keys'))
    )::text as bytes
  `
  return Number(row?.bytes)
}
