// Deletes events of the provider from the inbox after their retention, in bounded batches.
import { finalStatuses } from '../../domain/payments/payment-status.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { inService } from '../connection/transaction.ts'
import type { Old } from './stored-retention.ts'

/** A position in the order in which events were closed. */
interface Cursor {
  readonly settledAt: string
  readonly provider: string
  readonly id: string
}

/** Before the first event. */
const FIRST_CURSOR: Cursor = { settledAt: '-infinity', provider: '', id: '' }

/**
 * Deletes events that were closed before that time. An event of a payment that is not final stays: it
 * may be the only record of the provider's id. So does the record that a fraud warning was announced:
 * the provider sends events about a warning at any time. Returns the number of events.
 */
export async function deleteOldProviderEvents(sql: Sql, { before, limit }: Old): Promise<number> {
  let deleted = 0
  let after: Cursor | undefined = FIRST_CURSOR
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
  readonly next: Cursor | undefined
}

/** Looks at the next events. The conditions on them are those of the index. */
async function deletePage(sql: Sql, { before, limit }: Old, after: Cursor): Promise<DeletedPage> {
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

interface ClosedEvent extends Cursor {
  readonly tenantId: string | null
  readonly paymentId: string | null
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
