// Watches uncaptured holds: announces their end to the tenants in time. After their end it makes a
// worker look at the provider, in case the provider's events are lost. It calls no provider itself.
import type { Config } from '../config.ts'
import type { Store } from '../db/connection/client.ts'
import { announceIfExpiring, lookIfExpired } from '../db/payments/expiring-payments.ts'
import { inFullBatches } from './batches.ts'

const BATCH = 250

/** Counts that are all zero when there was nothing to do. */
export interface ExpiryCounts extends Record<string, number> {
  /** Payments that were announced, or that hold nothing any more. */
  readonly announced: number
  /** Payments that a worker looks at, or that hold nothing any more. */
  readonly looked_at: number
}

export async function watchHolds(
  { sql }: Pick<Store, 'sql'>,
  { AUTHORIZATION_NOTICE_SECONDS: noticeSeconds }: Pick<Config, 'AUTHORIZATION_NOTICE_SECONDS'>,
): Promise<ExpiryCounts> {
  const due = { noticeSeconds, limit: BATCH }
  return {
    announced: await inFullBatches(BATCH, () => announceIfExpiring(sql, due)),
    looked_at: await inFullBatches(BATCH, () => lookIfExpired(sql, { limit: BATCH })),
  }
}
