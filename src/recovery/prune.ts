// Deletes records after their retention period, so that growth has an end. The ledger has none, and of a
// payment, refund or dispute everything stays that the ledger and the reconciliation need.
import type { Config } from '../config.ts'
import { deleteOldProviderEvents } from '../db/retention/old-provider-events.ts'
import {
  retentionSettings,
  type History,
  deleteOld,
  type Old,
} from '../db/retention/stored-retention.ts'
import type { Engine } from '../engine/engine.ts'
import { inFullBatches } from './batches.ts'

export type PruneParts = Pick<Engine, 'store' | 'clock'>

export type PruneSettings = Pick<
  Config,
  | 'DELIVERY_RETENTION_DAYS'
  | 'TIMELINE_RETENTION_DAYS'
  | 'EVENT_RETENTION_DAYS'
  | 'AUDIT_RETENTION_DAYS'
  | 'INBOX_RETENTION_DAYS'
  | 'PAYMENT_RETENTION_DAYS'
  | 'REAP_BATCH_SIZE'
>

/** How many records of each kind one round deleted. */
export interface PruneCounts extends Record<string, number> {
  readonly deliveries: number
  readonly timeline_entries: number
  readonly events: number
  readonly audit_records: number
  readonly provider_events: number
  /** Payments whose details were deleted. */
  readonly payments: number
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** Runs one round. Concurrent rounds, in this and in other processes, are harmless. */
export async function prune(
  { store, clock }: PruneParts,
  settings: PruneSettings,
): Promise<PruneCounts> {
  const limit = settings.REAP_BATCH_SIZE
  const prunes = async (days: number, deleteBatch: (old: Old) => Promise<number>) => {
    if (days === 0) return 0
    const before = new Date(clock.now().getTime() - days * DAY_MS)
    return await inFullBatches(limit, () => deleteBatch({ before, limit }))
  }
  const prunesHistory = (records: History) =>
    prunes(settings[retentionSettings[records]], (old) => deleteOld(store.sql, records, old))
  return {
    deliveries: await prunesHistory('deliveries'),
    timeline_entries: await prunesHistory('phase_runs'),
    events: await prunesHistory('events'),
    audit_records: await prunesHistory('admin_actions'),
    provider_events: await prunes(settings.INBOX_RETENTION_DAYS, (old) =>
      deleteOldProviderEvents(store.sql, old),
    ),
    payments: await prunesHistory('payment_details'),
  }
}
