// Finds payments whose hold ends: announces it to their tenants before, and after it has a worker
// look whether the provider has released the money. Each write repeats its condition, so that
// several workers may run it at once, and each hold is announced once. The steps are literals
// because the index names them.
import { AUTHORIZATION_EXPIRING } from '../../domain/events/event-types.ts'
import { EXPIRY } from '../../domain/events/provider-event.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { seesEveryTenant } from '../connection/row-security.ts'
import { insertEventOfEach } from '../events/event-records.ts'
import { insertJobs, jobOfEvent } from '../queue/jobs.ts'
import { REMINDERS_QUEUE } from '../queue/queues.ts'

/** An operation that works on the payment may end the hold itself. */
const isAtRest = (sql: Sql): Fragment => sql`status not in ('processing', 'unknown')`

/**
 * Sends an event for each hold that ends within so many seconds. A payment that holds nothing any
 * more, and a hold that has ended already, only take the next step.
 *
 * @returns how many payments took the step, and how many of them got the event.
 */
export async function announceIfExpiring(
  sql: Sql,
  { noticeSeconds, limit }: { noticeSeconds: number; limit: number },
): Promise<{ readonly count: number; readonly events: number }> {
  const isDue = sql`
    expiry_step = 'announce' and ${isAtRest(sql)}
      and capture_before < now() + ${noticeSeconds} * interval '1 second'
  `
  const rows = await sql<{ events: number }[]>`
    with changed as (
      update payments set expiry_step = 'look'
      where (tenant_id, id) in (
        select tenant_id, id from payments where ${isDue} order by capture_before limit ${limit}
      )
      and ${isDue}
      returning *
    ),
    expiring as (
      select * from changed where status = 'requires_capture' and capture_before > now()
    ),
    ${insertEventOfEach(sql, { payments: 'expiring', type: AUTHORIZATION_EXPIRING })}
    select (select count(*)::integer from event) as events
    from changed where ${seesEveryTenant(sql)}
  `
  return { count: rows.count, events: rows[0]?.events ?? 0 }
}

/**
 * Stores an internal event for each hold that has ended. Its job is repeated until the payment has
 * ended too.
 *
 * @returns how many payments took the step.
 */
export async function lookIfExpired(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const isDue = sql`expiry_step = 'look' and ${isAtRest(sql)} and capture_before < now()`
  const { count } = await sql`
    with changed as (
      update payments set expiry_step = 'done'
      where (tenant_id, id) in (
        select tenant_id, id from payments where ${isDue} order by capture_before limit ${limit}
      )
      and ${isDue}
      returning *
    ),
    stored as (
      insert into provider_events (
        provider, id, type, object_id, provider_payment_id, tenant_id, payment_id, occurred_at
      )
      select
        provider, ${EXPIRY}::text || '_' || id || '_' || extract(epoch from capture_before)::bigint,
        ${EXPIRY}::text, provider_payment_id, provider_payment_id, tenant_id, id, capture_before
      from changed
      where status = 'requires_capture'
      on conflict (provider, id) do nothing
      returning *
    ),
    stored_job as (${insertJobs(sql, { queue: REMINDERS_QUEUE, from: 'stored', job: jobOfEvent(sql) })})
    select from changed where ${seesEveryTenant(sql)}
  `
  return count
}
