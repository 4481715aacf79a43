// Counts the requests that use a key again, in the memory of this process, and writes the counts
// every few seconds: a replay stays one read. A crash loses the counts of these seconds. So does a
// write that fails, because it may have been committed: a count is too small, never too large.
import type { Logger } from 'pino'
import type { Sql } from '../../db/connection/client.ts'
import { withinMs } from '../../db/connection/store-errors.ts'
import { addReplays, type KeyReuse, type ReplayCount } from '../../db/idempotency/key-replays.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { createCounts, shareOf } from '../../domain/tenants/tenant-counts.ts'

const WRITE_INTERVAL_MS = 2_000

/** One tenant counts half as many keys between two writes. Others of its keys are not counted. */
const KEYS_MAX = 4_000

/** A shutdown does not wait longer for a store that does not answer. */
const LAST_WRITE_MS = 1_000

export interface ReplayCounter {
  /** Counts a request. It takes no time and never throws. */
  count(key: OperationRef, reuse: KeyReuse): void
  /** Writes what is counted. Waits a moment at most. Never throws. */
  stop(): Promise<void>
}

type Counted = { -readonly [Name in keyof ReplayCount]: ReplayCount[Name] }

/**
 * @param most how many keys are counted between two writes.
 * @param intervalMs the time from the first count to its write.
 */
export function createReplayCounter(
  sql: Sql,
  log: Logger,
  { most = KEYS_MAX, intervalMs = WRITE_INTERVAL_MS } = {},
): ReplayCounter {
  const mostOfTenant = shareOf(most)
  let counts = new Map<string, Counted>()
  let keys = createCounts()
  let timer: NodeJS.Timeout | undefined

  async function write(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const counted = [...counts.values()]
    if (counted.length === 0) return
    counts = new Map()
    keys = createCounts()
    try {
      await addReplays(sql, counted)
    } catch (error) {
      log.warn({ err: error, keys: counted.length }, 'could not write how often keys were replayed')
    }
  }

  function begin({ tenantId, id }: OperationRef): Counted | undefined {
    if (keys.all() >= most || keys.of(tenantId) >= mostOfTenant) return undefined
    keys.add(tenantId, 1)
    timer ??= setTimeout(() => void write(), intervalMs).unref()
    const now = new Date()
    const key = { tenantId, id, replays: 0, conflicts: 0, mismatches: 0, firstAt: now, lastAt: now }
    counts.set(id, key)
    return key
  }

  return {
    count(ref, reuse) {
      const key = counts.get(ref.id) ?? begin(ref)
      if (key === undefined) return
      key[reuse] += 1
      key.lastAt = new Date()
    },
    stop: () => withinMs(LAST_WRITE_MS, write()).catch(() => {}),
  }
}
