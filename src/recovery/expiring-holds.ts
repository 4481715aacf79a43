// Watches uncaptured holds: announces their end to the tenants in time. After their end it makes a
// worker look at the provider, in case the provider's events are lost. It calls no provider itself,
// and ends no payment by the time alone: the provider may have captured the hold, or extended it.
import type { Config } from '../config.ts'
import { announceIfExpiring, lookIfExpired } from '../db/payments/expiring-payments.ts'
import { AUTHORIZATION_EXPIRING } from '../domain/events/event-types.ts'
import type { Engine } from '../engine/engine.ts'
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
  { store: { sql }, observe }: Pick<Engine, 'store' | 'observe'>,
  { AUTHORIZATION_NOTICE_SECONDS: noticeSeconds }: Pick<Config, 'AUTHORIZATION_NOTICE_SECONDS'>,
): Promise<ExpiryCounts> {
  const announce = async () => {
    const { count, events } = await announceIfExpiring(sql, { noticeSeconds, limit: BATCH })
    observe.insertedEvents(AUTHORIZATION_EXPIRING, events)
    return count
  }
  return {
    announced: await inFullBatches(BATCH, announce),
    looked_at: await inFullBatches(BATCH, () => lookIfExpired(sql, { limit: BATCH })),
  }
}
