// Deletes records after their retention period, so that growth has an end. The ledger has none, and of a
// payment, refund or dispute everything stays that the ledger and the reconciliation need.
import type { Config } from '../config.ts'
import type { Sql, Transaction } from '../db/connection/client.ts'
import { asService, inService } from '../db/connection/transaction.ts'
import { historySettings, type History, type RetentionDays } from '../retention-settings.ts'
import { finalStatuses } from '../domain/payments/payment.ts'
import type { Engine } from '../engine/engine.ts'
import { inFullBatches } from './full-batches.ts'

export type PruneSettings = RetentionDays & Pick<Config, 'INBOX_RETENTION_DAYS' | 'REAP_BATCH_SIZE'>

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * Runs one round, and counts the deleted records of each kind. Concurrent rounds, in this and in other
 * processes, are harmless.
 */
export async function prune(
  { store: { sql }, clock }: Pick<Engine, 'store' | 'clock'>,
  settings: PruneSettings,
) {
  const limit = settings.REAP_BATCH_SIZE
  const prunes = async (days: number, deleteBatch: (old: Old) => Promise<number>) => {
    if (days === 0) return 0
    const before = new Date(clock.now().getTime() - days * DAY_MS)
    return await inFullBatches(limit, () => deleteBatch({ before, limit }))
  }
  const prunesHistory = (records: History) =>
    prunes(settings[historySettings[records]], (old) => deleteOld(sql, records, old))
  return {
    deliveries: await prunesHistory('deliveries'),
    timeline_entries: await prunesHistory('phase_runs'),
    events: await prunesHistory('events'),
    audit_records: await prunesHistory('admin_actions'),
    provider_events: await prunes(settings.INBOX_RETENTION_DAYS, (old) =>
      deleteOldProviderEvents(sql, old),
    ),
    /** Payments whose details were deleted. */
    payments: await prunesHistory('payment_details'),
  }
}

/** Records from before this time, and how many of them a batch deletes. */
interface Old {
  readonly before: Date
  readonly limit: number
}

/**
 * Deletes old records, and returns how many; of `payment_details`, the number of payments. What an
 * operation or a delivery still needs stays, however old it is. The service may not delete history, so
 * functions of the owner do it, and only with what is older than the owner wants to keep: see
 * drizzle/0000_schema.sql.
 */
export async function deleteOld(
  sql: Sql,
  records: History,
  { before, limit }: Old,
): Promise<number> {
  const [row] = await asService(sql)<{ deleted: number }[]>`
    select ${sql(`delete_old_${records}`)}(${before.toISOString()}::timestamptz, ${limit}::int)::int as deleted
  `
  return row?.deleted ?? 0
}

/** An event of the inbox. They are looked at in the order in which they were closed. */
interface ClosedEvent {
  readonly settledAt: string
  readonly provider: string
  readonly id: string
  readonly tenantId: string | null
  readonly paymentId: string | null
}

type Position = Pick<ClosedEvent, 'settledAt' | 'provider' | 'id'>

/** Before the first event. */
const BEGINNING: Position = { settledAt: '-infinity', provider: '', id: '' }

/**
 * Deletes events that were closed before that time. An event of a payment that is not final stays: it
 * may be the only record of the provider's id. So does the record that a fraud warning was announced:
 * the provider sends events about a warning at any time. Returns the number of events.
 */
export async function deleteOldProviderEvents(sql: Sql, { before, limit }: Old): Promise<number> {
  let deleted = 0
  let after: Position | undefined = BEGINNING
  while (after !== undefined && deleted < limit) {
    const page: DeletedPage = await deletePage(sql, { before, limit: limit - deleted }, after)
    deleted += page.deleted
    after = page.next
  }
  return deleted
}

interface DeletedPage {
  readonly deleted: number
  /** Undefined when no closed event is left. */
  readonly next: Position | undefined
}

/** Looks at the next events. The conditions on them are those of the index. */
async function deletePage(sql: Sql, { before, limit }: Old, after: Position): Promise<DeletedPage> {
  return await inService(sql, async (tx) => {
    const closed = await tx<ClosedEvent[]>`
      select
        provider, id, settled_at::text as "settledAt", tenant_id as "tenantId",
        payment_id as "paymentId"
      from provider_events
      where settled_at < ${before.toISOString()}::timestamptz and type <> 'warning'
        and settled_at >= ${after.settledAt}::timestamptz
        and (settled_at, provider, id)
          > (${after.settledAt}::timestamptz, ${after.provider}::text, ${after.id}::text)
      order by settled_at, provider, id
      limit ${limit}
      -- Two sessions that wait for each other's rows deadlock.
      for update skip locked
    `
    const kept = await findUnfinished(tx, closed)
    const old = closed.filter(({ paymentId }) => !kept.has(paymentId))
    const { count } = await tx`
      delete from provider_events
      where (provider, id) in (
        select * from unnest(
          ${old.map(({ provider }) => provider)}::text[], ${old.map(({ id }) => id)}::text[]
        )
      )
    `
    return { deleted: count, next: closed.length < limit ? undefined : closed.at(-1) }
  })
}

/** The payments of the events that are not final. */
async function findUnfinished(
  tx: Transaction,
  events: readonly ClosedEvent[],
): Promise<ReadonlySet<string | null>> {
  const named = events.filter(({ paymentId }) => paymentId !== null)
  const rows = await tx<{ id: string }[]>`
    select payments.id from unnest(
      ${named.map(({ tenantId }) => tenantId)}::uuid[],
      ${named.map(({ paymentId }) => paymentId)}::uuid[]
    ) as event (tenant_id, payment_id)
    join payments on payments.tenant_id = event.tenant_id and payments.id = event.payment_id
    where payments.status <> all(${finalStatuses}::text[])
  `
  return new Set(rows.map(({ id }) => id))
}
