// Deletes events of the provider from the inbox after their retention, in bounded batches.
import { finalStatuses } from '../../domain/payments/payment-status.ts'
import type { Sql } from '../connection/client.ts'
import { seesEveryTenant } from '../connection/row-security.ts'
import type { Old } from './old-records.ts'

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
  let after = FIRST_CURSOR
  for (;;) {
    const most = limit - deleted
    const page = await deletePage(sql, { before, limit: most }, after)
    deleted += page.deleted
    if (page.last === null || page.lookedAt < most || deleted === limit) return deleted
    after = page.last
  }
}

interface DeletedPage {
  readonly lookedAt: number
  readonly deleted: number
  readonly last: Cursor | null
}

/** Looks at the next events. The conditions on them are those of the index. */
async function deletePage(sql: Sql, { before, limit }: Old, after: Cursor): Promise<DeletedPage> {
  const [page] = await sql<DeletedPage[]>`
    with closed as materialized (
      select provider, id, settled_at, tenant_id, payment_id from provider_events
      where settled_at < ${before.toISOString()}::timestamptz and type <> 'warning'
        and settled_at >= ${after.settledAt}::timestamptz
        and (settled_at, provider, id)
          > (${after.settledAt}::timestamptz, ${after.provider}::text, ${after.id}::text)
      order by settled_at, provider, id
      limit ${limit}
      -- Two sessions that wait for each other's rows deadlock.
      for update skip locked
    ),
    kept as (
      select closed.provider, closed.id from closed
      join payments on payments.tenant_id = closed.tenant_id and payments.id = closed.payment_id
      where payments.status <> all(${finalStatuses}::text[])
    ),
    deleted as (
      delete from provider_events using closed
      where provider_events.provider = closed.provider and provider_events.id = closed.id
        and (closed.provider, closed.id) not in (select provider, id from kept)
      returning 1
    )
    select
      (select count(*)::int from closed) as "lookedAt",
      (select count(*)::int from deleted) as deleted,
      (
        select jsonb_build_object('settledAt', settled_at::text, 'provider', provider, 'id', id)
        from closed order by settled_at desc, provider desc, id desc limit 1
      ) as last
    where ${seesEveryTenant(sql)}
  `
  if (page === undefined) throw new Error('a count returned no row')
  return page
}
