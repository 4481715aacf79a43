// Times the batches of sweeper, outcome resolver and reaper through the functions that the workers
// call.
import type { Config } from '../../src/config.ts'
import type { Sql } from '../../src/db/connection/client.ts'
import {
  insertTombstones,
  deleteIfTombstoned,
  type ExpiryCursor,
} from '../../src/db/idempotency/key-expiry.ts'
import { deleteOldTombstones } from '../../src/db/idempotency/key-tombstones.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../src/db/queue/queues.ts'
import { resolveDue } from '../../src/recovery/outcome-resolver.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import { UNFINISHED_EACH } from '../seed.ts'
import { spreadOf, timed, type Spread } from '../spread.ts'

export interface Times extends Spread {
  readonly what: string
  /** How many operations or keys a batch handles. */
  readonly each: number
}

export interface TickParts {
  readonly engine: Engine
  readonly config: Config
  /** A connection pool with the owner's login, to prepare rows between two ticks. */
  readonly owner: Sql
  /** How many expired keys wait for the reaper. */
  readonly expired: number
}

/** The first ticks plan their statements and read pages that were last used by the seeding. */
const WARM_UP = 10
const IDLE_TICKS = 200
const BUSY_TICKS = 50
const BATCHES_MAX = 200

/** No request uses the keys, so a key may be deleted as soon as it has a tombstone. */
const AT_ONCE_MS = 0

export async function timeTicks(parts: TickParts): Promise<Times[]> {
  const { engine } = parts
  const sweepIdle = await timeMany(IDLE_TICKS, () => sweep(engine))
  const checkIdle = await timeMany(IDLE_TICKS, () => resolveDue(engine))
  return [
    { what: 'sweeper tick, nothing to do', each: 0, ...sweepIdle },
    {
      what: 'sweeper tick, expired leases',
      each: UNFINISHED_EACH,
      ...(await timeExpiredLeases(parts)),
    },
    { what: 'outcome resolver tick, nothing due', each: 0, ...checkIdle },
    ...(await timeReaping(parts)),
  ]
}

async function timeMany(count: number, tick: () => Promise<unknown>): Promise<Spread> {
  const timesMs: number[] = []
  for (let number = 1; number <= WARM_UP + count; number += 1) timesMs.push((await timed(tick)).ms)
  return spreadOf(timesMs.slice(WARM_UP))
}

async function timeExpiredLeases({ engine, owner }: TickParts): Promise<Spread> {
  const timesMs: number[] = []
  for (let number = 1; number <= WARM_UP + BUSY_TICKS; number += 1) {
    await letLeasesRunOut(owner)
    const { ms, result } = await timed(() => sweep(engine))
    if (result.resumed !== UNFINISHED_EACH)
      throw new Error(`a sweep resumed ${result.resumed} operations`)
    timesMs.push(ms)
  }
  return spreadOf(timesMs.slice(WARM_UP))
}

/**
 * Gives the operations that the previous sweep resumed a lease that has expired, and deletes their
 * jobs.
 */
async function letLeasesRunOut(sql: Sql): Promise<void> {
  await sql`
    with silent as (
      update idempotency_keys set
        status = 'processing', lease_expires_at = now() - interval '1 second',
        phase_began_at = now(), attempts = 1
      where status in ('pending', 'processing') and lease_epoch > 0
      returning job_id
    )
    delete from ${sql(JOB_SCHEMA)}.job using silent
    where job.name = ${OPERATIONS_QUEUE} and job.id = silent.job_id
  `
}

async function timeReaping({ engine, config, expired }: TickParts): Promise<Times[]> {
  const { sql } = engine.store
  const limit = config.REAP_BATCH_SIZE
  const batches = Math.min(BATCHES_MAX, Math.floor(expired / 2 / limit))
  let after: ExpiryCursor | undefined
  const insert = await timeFull(batches, limit, async () => {
    const { inserted, next } = await insertTombstones(sql, { limit, after })
    after = next
    return inserted
  })
  const due = { limit, statementTimeoutMs: AT_ONCE_MS }
  const remove = await timeFull(batches, limit, () => deleteIfTombstoned(sql, due))
  const old = { limit, retentionSeconds: config.TOMBSTONE_RETENTION_SECONDS }
  const removeOld = await timeFull(batches, limit, () => deleteOldTombstones(sql, old))
  return [
    { what: 'reaper batch, tombstones', each: limit, ...insert },
    { what: 'reaper batch, delete', each: limit, ...remove },
    { what: 'reaper batch, old tombstones', each: limit, ...removeOld },
  ]
}

/**
 * Times batches while they are full. Warm-up batches may be smaller, because they meet leftover
 * rows.
 */
async function timeFull(
  batches: number,
  limit: number,
  batch: () => Promise<number>,
): Promise<Spread> {
  const timesMs: number[] = []
  for (let number = 1; number <= batches; number += 1) {
    const { ms, result } = await timed(batch)
    if (number <= WARM_UP) continue
    if (result < limit) break
    timesMs.push(ms)
  }
  return spreadOf(timesMs)
}
