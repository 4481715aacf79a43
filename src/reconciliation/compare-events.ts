// The events of the provider that were left behind: requeues those whose job was lost, and compares the
// payments of those that match none of ours.
import type { Sql } from '../db/connection/client.ts'
import { asService, inService } from '../db/connection/transaction.ts'
import {
  addJobs,
  JOB_SCHEMA,
  PROVIDER_EVENTS_QUEUE,
  REMINDERS_QUEUE,
  type ProviderEventJob,
} from '../db/queue/jobs.ts'
import { REMINDER } from '../domain/events/provider-event.ts'
import { paymentRecords } from './compare-payments.ts'
import { compareObject } from './compare-records.ts'
import { notComparedAmong, recordCompared } from './compared-objects.ts'
import { throwIfEnded, type Comparison } from './comparison.ts'

const STALE_AFTER = '1 hour'

/** The number of events that one statement handles. */
const BATCH = 500

/**
 * Requeues events that are pending for an hour and have no job. Reminders are left alone: they
 * expire by themselves. Returns the number of requeued events.
 */
export async function requeueStaleEvents(sql: Sql, provider: string): Promise<number> {
  return await inService(sql, async (tx) => {
    const stale = await tx<ProviderEventJob[]>`
      select provider, id as "eventId", tenant_id as "tenantId" from provider_events as event
      where status = 'pending' and received_at < now() - ${STALE_AFTER}::interval
        and provider = ${provider} and type <> ${REMINDER}
        and not exists (
          select from ${tx(JOB_SCHEMA)}.job
          where name in (${PROVIDER_EVENTS_QUEUE}, ${REMINDERS_QUEUE})
            and state in ('created', 'retry', 'active')
            and data ->> 'eventId' = event.id and data ->> 'provider' = event.provider
        )
      order by received_at
      limit ${BATCH}
    `
    const jobs = stale.map((data) => ({ data }))
    await addJobs(tx, PROVIDER_EVENTS_QUEUE, jobs)
    return stale.length
  })
}

/** Judges the payments of the window's unmatched events, unless a page contained them. */
export async function compareUnmatchedEvents(comparison: Comparison): Promise<void> {
  const { sql, run, signal } = comparison
  let last: UnmatchedEvent | undefined
  for (;;) {
    const page = await listUnmatchedEvents(sql, run, last)
    const ids = page.map(({ providerPaymentId }) => providerPaymentId)
    const missed = await notComparedAmong(sql, run.id, ids)
    await throwIfEnded(comparison)
    for (const id of missed) {
      signal.throwIfAborted()
      await compareObject(comparison, paymentRecords, id)
      await recordCompared(sql, run.id, [id])
    }
    last = page.at(-1)
    if (last === undefined) return
  }
}

/** An object that an event named, and the position of the event in the inbox. */
interface UnmatchedEvent {
  readonly providerPaymentId: string
  readonly receivedAt: string
  readonly id: string
}

/** A page of the events of a window that name a payment which is not ours, oldest first. */
export async function listUnmatchedEvents(
  sql: Sql,
  { provider, from, to }: { provider: string; from: Date; to: Date },
  after: UnmatchedEvent | undefined,
): Promise<UnmatchedEvent[]> {
  const later =
    after === undefined ? sql`` : sql`and (received_at, id) > (${after.receivedAt}, ${after.id})`
  return await asService(sql)<UnmatchedEvent[]>`
    select provider_payment_id as "providerPaymentId", received_at as "receivedAt", id
    from provider_events
    where status = 'unmatched' and provider = ${provider} and provider_payment_id is not null
      and received_at >= ${from.toISOString()} and received_at < ${to.toISOString()} ${later}
    order by received_at, id
    limit ${BATCH}
  `
}
