// Blocks every request that reserves an idempotency key, so that a test can observe a busy server.
import type { LimitedApi } from '../../support/limited-api.ts'
import { until } from '../../support/until.ts'

/** Locks a table, by default that of idempotency keys, until `release` is called. */
export async function lockTable({ store }: Pick<LimitedApi, 'store'>, table = 'idempotency_keys') {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: isLocked, resolve: lock } = Promise.withResolvers<void>()
  const locked = store.sql.begin(async (tx) => {
    await tx`lock table ${tx(table)} in access exclusive mode`
    lock()
    await released
  })
  await isLocked
  return { locked, release }
}

/** Resolves when a request waits for the lock. */
export async function untilWaitingForLock({ store }: Pick<LimitedApi, 'store'>): Promise<void> {
  await until(async () => {
    const rows = await store.sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
    `
    return rows.length > 0
  })
}
