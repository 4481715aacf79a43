// Finds provider events that were left behind: those whose job was lost, and those that match no
// payment of ours.
import type { Sql } from '../connection/client.ts'
import { asService, inService } from '../connection/transaction.ts'
import { addJobs, providerEventJob } from '../queue/jobs.ts'
import { JOB_SCHEMA, PROVIDER_EVENTS_QUEUE, REMINDERS_QUEUE } from '../queue/queues.ts'
import type { providerEvents } from '../schema/provider-events.ts'
import type { RowOf } from '../schema/row-of.ts'

const STALE_AFTER = '1 hour'

/** The number of events that one statement handles. */
const BATCH = 500

/**
 * Requeues events that are pending for an hour and have no job. Reminders are left alone: they
 * expire by themselves. Returns the number of requeued events.
 */
export async function requeueStaleEvents(
  sql: Sql,
  provider: string,
  reminder: string,
): Promise<number> {
  return await inService(sql, async (tx) => {
    const stale = await tx<{ id: string; tenantId: string | null }[]>`
      select id, tenant_id as "tenantId" from provider_events as event
      where status = 'pending' and received_at < now() - ${STALE_AFTER}::interval
        and provider = ${provider} and type <> ${reminder}
        and not exists (
          select from ${tx(JOB_SCHEMA)}.job
          where name in (${PROVIDER_EVENTS_QUEUE}, ${REMINDERS_QUEUE})
            and state in ('created', 'retry', 'active')
            and data ->> 'eventId' = event.id and data ->> 'provider' = event.provider
        )
      order by received_at
      limit ${BATCH}
    `
    const jobs = stale.map((event) => ({ data: providerEventJob({ provider, ...event }) }))
    await addJobs(tx, PROVIDER_EVENTS_QUEUE, jobs)
    return stale.length
  })
}

/** An object that an event named, and the position of the event in the inbox. */
export interface UnmatchedEvent {
  readonly providerPaymentId: string
  readonly receivedAt: string
  readonly id: string
}

type UnmatchedRow = Pick<RowOf<typeof providerEvents>, 'id' | 'received_at'> & {
  readonly provider_payment_id: string
}

/** A page of the events of a window that name a payment which is not ours, oldest first. */
export async function listUnmatchedEvents(
  sql: Sql,
  { provider, from, to }: { provider: string; from: Date; to: Date },
  after: UnmatchedEvent | undefined,
): Promise<UnmatchedEvent[]> {
  const later =
    after === undefined ? sql`` : sql`and (received_at, id) > (${after.receivedAt}, ${after.id})`
  const rows = await asService(sql)<UnmatchedRow[]>`
    select provider_payment_id, received_at, id from provider_events
    where status = 'unmatched' and provider = ${provider} and provider_payment_id is not null
      and received_at >= ${from.toISOString()} and received_at < ${to.toISOString()} ${later}
    order by received_at, id
    limit ${BATCH}
  `
  return rows.map((row) => ({
    providerPaymentId: row.provider_payment_id,
    receivedAt: row.received_at,
    id: row.id,
  }))
}
