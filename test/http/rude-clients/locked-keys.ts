// Holds up every request that reserves a key, so that a test can look at a server that is at work.
import type { LimitedApi } from '../../support/limited-api.ts'
import { until } from './raw-connection.ts'

/** Nobody writes a key until it is released. */
export async function lockKeys({ store }: Pick<LimitedApi, 'store'>) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: isLocked, resolve: lock } = Promise.withResolvers<void>()
  const locked = store.sql.begin(async (tx) => {
    await tx`lock table idempotency_keys in access exclusive mode`
    lock()
    await released
  })
  await isLocked
  return { locked, release }
}

/** Resolves when a request is held up. */
export async function untilWaitingForLock({ store }: Pick<LimitedApi, 'store'>): Promise<void> {
  await until(async () => {
    const rows = await store.sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'
    `
    return rows.length > 0
  })
}
