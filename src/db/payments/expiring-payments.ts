// Finds payments whose hold ends: announces it to their tenants before, and after it has a worker
// look whether the provider has released the money. Each write repeats its condition, so that
// several workers may run it at once, and each hold is announced once. The steps are literals
// because the index names them.
import { AUTHORIZATION_EXPIRING } from '../../domain/events/event-types.ts'
import { EXPIRY } from '../../domain/events/provider-event.ts'
import type { Fragment, Sql } from '../connection/client.ts'
import { inService } from '../connection/transaction.ts'
import { writePaymentEvents } from '../events/write-events.ts'
import { addJobs, providerEventJob } from '../queue/jobs.ts'
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
  return await inService(sql, async (tx) => {
    const changed = await tx<(Hold & { isHeld: boolean })[]>`
      update payments set expiry_step = 'look'
      where (tenant_id, id) in (
        select tenant_id, id from payments where ${isDue} order by capture_before limit ${limit}
      )
      and ${isDue}
      returning
        tenant_id as "tenantId", id, status = 'requires_capture' and capture_before > now() as "isHeld"
    `
    const expiring = changed.filter(({ isHeld }) => isHeld)
    for (const [tenantId, holds] of Map.groupBy(expiring, (hold) => hold.tenantId)) {
      const ids = holds.map(({ id }) => id)
      await writePaymentEvents(tx, tenantId, ids, AUTHORIZATION_EXPIRING)
    }
    return { count: changed.length, events: expiring.length }
  })
}

interface Hold {
  readonly tenantId: string
  readonly id: string
}

/**
 * Stores an internal event for each hold that has ended. Its job is repeated until the payment has
 * ended too.
 *
 * @returns how many payments took the step.
 */
export async function lookIfExpired(sql: Sql, { limit }: { limit: number }): Promise<number> {
  const isDue = sql`expiry_step = 'look' and ${isAtRest(sql)} and capture_before < now()`
  return await inService(sql, async (tx) => {
    const changed = await tx<(Hold & { isHeld: boolean })[]>`
      update payments set expiry_step = 'done'
      where (tenant_id, id) in (
        select tenant_id, id from payments where ${isDue} order by capture_before limit ${limit}
      )
      and ${isDue}
      returning tenant_id as "tenantId", id, status = 'requires_capture' as "isHeld"
    `
    const held = changed.filter(({ isHeld }) => isHeld)
    for (const [tenantId, holds] of Map.groupBy(held, (hold) => hold.tenantId)) {
      const stored = await tx<{ provider: string; id: string }[]>`
        insert into provider_events (
          provider, id, type, object_id, provider_payment_id, tenant_id, payment_id, occurred_at
        )
        select
          provider, ${EXPIRY}::text || '_' || id || '_' || extract(epoch from capture_before)::bigint,
          ${EXPIRY}::text, provider_payment_id, provider_payment_id, tenant_id, id, capture_before
        from payments
        where tenant_id = ${tenantId}
          and id = any(${holds.map(({ id }) => id)}::uuid[])
        on conflict (provider, id) do nothing
        returning provider, id
      `
      const jobs = stored.map((event) => ({ data: providerEventJob({ ...event, tenantId }) }))
      await addJobs(tx, REMINDERS_QUEUE, jobs)
    }
    return changed.length
  })
}
