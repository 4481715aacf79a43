// Counts the requests that use a key again, in the memory of this process, and writes the counts
// every few seconds: a replay stays one read. A crash loses the counts of these seconds. So does a
// write that fails, because it may have been committed: a count is too small, never too large.
import type { Logger } from 'pino'
import type { Sql, Transaction } from '../../db/connection/client.ts'
import { forEachTenant, objectsOf, rowsOf } from '../../db/connection/rows.ts'
import { withinMs } from '../../db/connection/store-errors.ts'
import { asTenant, inTenants } from '../../db/connection/transaction.ts'
import type { OperationRef } from '../../domain/operations/operation.ts'
import { createCounts, shareOf } from '../../domain/tenants/tenant-counts.ts'

const WRITE_INTERVAL_MS = 2_000

/** One tenant counts half as many keys between two writes. Others of its keys are not counted. */
const KEYS_MAX = 4_000

/** A shutdown does not wait longer for a store that does not answer. */
const LAST_WRITE_MS = 1_000

/** What a request got that used a key again: the stored response, a 409 or a 422. */
type KeyReuse = 'replays' | 'conflicts' | 'mismatches'

export interface ReplayCount extends OperationRef, Record<KeyReuse, number> {
  readonly firstAt: Date
  lastAt: Date
}

export interface ReplayCounter {
  /** Counts a request. It takes no time and never throws. */
  count(key: OperationRef, reuse: KeyReuse): void
  /** Writes what is counted. Waits a moment at most. Never throws. */
  stop(): Promise<void>
}

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
  let counts = new Map<string, ReplayCount>()
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

  function begin({ tenantId, id }: OperationRef): ReplayCount | undefined {
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

/**
 * Adds to the counts of keys, once per key; one that is deleted meanwhile is skipped. Several
 * processes do not deadlock, because they change the rows in one order. In a transaction it has a
 * connection of its own, so that no other statement waits for it.
 */
export async function addReplays(sql: Sql, counts: readonly ReplayCount[]): Promise<void> {
  await inTenants(sql, counts, (tx) =>
    forEachTenant(counts, (tenantId, own) => addReplaysOf(tx, tenantId, own)),
  )
}

async function addReplaysOf(
  tx: Transaction,
  tenantId: string,
  counts: readonly ReplayCount[],
): Promise<void> {
  const stored = await tx<{ id: string }[]>`
    select id from idempotency_keys
    where tenant_id = ${tenantId} and id = any(${counts.map(({ id }) => id)}::uuid[])
    for key share
  `
  const ids = new Set(stored.map(({ id }) => id))
  const rows = counts
    .filter(({ id }) => ids.has(id))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id: operationId, ...numbers }) => ({ operationId, ...numbers }))
  if (rows.length === 0) return
  await tx`
    insert into key_replays ${rowsOf(tx, rows)}
    on conflict (tenant_id, operation_id) do update set
      replays = key_replays.replays + excluded.replays,
      conflicts = key_replays.conflicts + excluded.conflicts,
      mismatches = key_replays.mismatches + excluded.mismatches,
      first_at = least(key_replays.first_at, excluded.first_at),
      last_at = greatest(key_replays.last_at, excluded.last_at)
  `
}

/** The counts of the operations of a tenant that have one. */
export async function listReplays(
  sql: Sql,
  tenantId: string,
  operationIds: readonly string[],
): Promise<ReplayCount[]> {
  const rows = await asTenant(sql, tenantId)`
    select tenant_id, operation_id as id, replays, conflicts, mismatches, first_at, last_at
    from key_replays
    where tenant_id = ${tenantId} and operation_id = any(${[...operationIds]}::uuid[])
  `
  return objectsOf(rows)
}
