// Deletes events of the provider from the inbox after their retention, in bounded batches.
import { finalStatuses } from '../../domain/payments/payment-status.ts'
import type { Sql } from '../connection/client.ts'
import { seesEveryTenant } from '../connection/row-security.ts'
import type { Old } from './old-records.ts'

/**
 * Deletes events that were closed before that time. An event of a payment that is not final stays: it
 * may be the only record of the provider's id. So does the record that a fraud warning was announced:
 * the provider sends events about a warning at any time. The conditions on the event are those of the
 * index. Returns the number of events.
 */
export async function deleteOldProviderEvents(sql: Sql, { before, limit }: Old): Promise<number> {
  const { count } = await sql`
    with old as materialized (
      select provider, id from provider_events as event
      where settled_at < ${before.toISOString()}::timestamptz and type <> 'warning'
        and not exists (
          select from payments
          where payments.tenant_id = event.tenant_id and payments.id = event.payment_id
            and payments.status <> all(${finalStatuses}::text[])
        )
      order by settled_at
      limit ${limit}
      -- Two sessions that wait for each other's rows deadlock.
      for update of event skip locked
    )
    delete from provider_events using old
    where ${seesEveryTenant(sql)}
      and provider_events.provider = old.provider and provider_events.id = old.id
  `
  return count
}
