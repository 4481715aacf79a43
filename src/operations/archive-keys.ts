// The archiver, for KEY_PARTITIONS=daily: moves finished keys to the day on which they expire, so that
// reaping them is dropping that day. A part of the reaper's round.
import type { Config } from '../config.ts'
import type { Sql } from '../db/client.ts'
import type { ExpiryCursor } from '../db/expired-keys.ts'
import {
  buryDay,
  copyFinished,
  deleteIfCopied,
  dropDayIfBuried,
  findExpiredDays,
  makeDays,
} from '../db/finished-keys.ts'
import { isStoreUnavailable } from '../db/store-errors.ts'
import { inBatches, inFullBatches } from '../recovery/batches.ts'
import type { Engine } from '../engine/engine.ts'

export type ArchiverSettings = Pick<
  Config,
  'KEY_PARTITIONS' | 'KEY_RETENTION_SECONDS' | 'REAP_BATCH_SIZE' | 'STORE_TIMEOUT_MS'
>

/** How much one round of the archiver has done, by what it did. */
export interface Archived extends Record<string, number> {
  /** Keys that have a copy by day now, and are moved by a later round. */
  readonly copied: number
  /** Keys that are kept by day alone now. */
  readonly moved: number
  /** Days all of whose keys have tombstones now. */
  readonly days_buried: number
  readonly days_dropped: number
}

/** By then nearly every retry has come, and found its key where it was. */
const FINISHED_FOR_SECONDS = 3_600

const DAY_SECONDS = 86_400

/** Beyond the retention, so that nothing waits for a day when no worker ran for a while. */
const DAYS_AHEAD = 2

/** Goes round once. When days are kept no longer, those that are there are still emptied and dropped. */
export async function archiveKeys(
  { store: { sql }, log }: Pick<Engine, 'store' | 'log'>,
  settings: ArchiverSettings,
): Promise<Archived> {
  const moves =
    settings.KEY_PARTITIONS === 'daily'
      ? await moveFinished(sql, settings)
      : { copied: 0, moved: 0 }
  return { ...moves, ...(await retireDays(sql, log, settings)) }
}

async function moveFinished(
  sql: Sql,
  { KEY_RETENTION_SECONDS, REAP_BATCH_SIZE, STORE_TIMEOUT_MS }: ArchiverSettings,
): Promise<{ copied: number; moved: number }> {
  await makeDays(sql, Math.ceil(KEY_RETENTION_SECONDS / DAY_SECONDS) + DAYS_AHEAD)
  const which = {
    limit: REAP_BATCH_SIZE,
    retentionSeconds: KEY_RETENTION_SECONDS,
    finishedForSeconds: FINISHED_FOR_SECONDS,
  }
  const due = { ...which, statementTimeoutMs: STORE_TIMEOUT_MS }
  const moved = await inFullBatches(which.limit, () => deleteIfCopied(sql, due))
  const copied = await inBatches<ExpiryCursor>(async (after) => {
    const batch = await copyFinished(sql, which, after)
    return { count: batch.copied, next: batch.next }
  })
  return { copied, moved }
}

async function retireDays(
  sql: Sql,
  log: Engine['log'],
  { STORE_TIMEOUT_MS }: ArchiverSettings,
): Promise<{ days_buried: number; days_dropped: number }> {
  const retired = { days_buried: 0, days_dropped: 0 }
  for (const { day, buried, settled } of await findExpiredDays(sql, STORE_TIMEOUT_MS)) {
    if (!buried && (await buryDay(sql, day)) !== undefined) retired.days_buried += 1
    if (settled && (await dropDay(sql, log, day, STORE_TIMEOUT_MS))) retired.days_dropped += 1
  }
  return retired
}

/** A day that is in use at this moment stays until the next round. */
async function dropDay(
  sql: Sql,
  log: Engine['log'],
  day: string,
  statementTimeoutMs: number,
): Promise<boolean> {
  try {
    const keys = await dropDayIfBuried(sql, day, statementTimeoutMs)
    if (keys === undefined) log.warn({ day }, 'a day of keys is buried anew before it is dropped')
    else log.info({ day, keys }, 'a day of keys is dropped')
    return keys !== undefined
  } catch (error) {
    if (!isStoreUnavailable(error)) throw error
    log.warn({ err: error, day }, 'a day of keys could not be dropped now')
    return false
  }
}
