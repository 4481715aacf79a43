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
import { paymentRecords } from './record-kinds.ts'
import { compareObject } from './compare-records.ts'
import { notComparedAmong, recordCompared } from './compared-objects.ts'
import { throwIfEnded, type Comparison } from './comparison.ts'
import type { RunRequest } from './runs.ts'

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
  for await (const page of walkUnmatchedPayments(sql, run)) {
    const missed = await notComparedAmong(sql, run.id, page)
    await throwIfEnded(comparison)
    for (const id of missed) {
      signal.throwIfAborted()
      await compareObject(comparison, paymentRecords, id)
      await recordCompared(sql, run.id, [id])
    }
  }
}

/** The provider's ids of the payments, page by page, that events of a window name and that are not ours. */
export async function* walkUnmatchedPayments(
  sql: Sql,
  { provider, from, to }: Omit<RunRequest, 'requestedBy'>,
): AsyncGenerator<string[]> {
  let last: Unmatched | undefined = { id: '', received_at: from.toISOString(), payment_id: '' }
  while (last !== undefined) {
    const rows: Unmatched[] = await asService(sql)`
      select id, received_at, provider_payment_id as payment_id from provider_events
      where status = 'unmatched' and provider = ${provider} and provider_payment_id is not null
        and (received_at, id) > (${last.received_at}, ${last.id})
        and received_at < ${to.toISOString()}
      order by received_at, id
      limit ${BATCH}
    `
    if (rows.length > 0) yield rows.map((row) => row.payment_id)
    last = rows.at(-1)
  }
}

interface Unmatched {
  readonly id: string
  readonly received_at: string
  readonly payment_id: string
}
