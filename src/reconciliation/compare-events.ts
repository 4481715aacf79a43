// The events of the provider that were never processed: those whose job was lost get a new one, and the
// payments of unmatched ones are read from the provider and compared.
import {
  listUnmatchedEvents,
  requeueStaleEvents,
  type UnmatchedEvent,
} from '../db/events/provider-events.ts'
import { REMINDER } from '../domain/events/provider-event.ts'
import { paymentRecords } from './compare-payments.ts'
import { compareObject } from './compare-records.ts'
import { notComparedAmong, recordCompared } from './compared-objects.ts'
import { throwIfEnded, untilStopped, type Comparison } from './comparison.ts'

export async function requeueEvents({ sql, run, counts }: Comparison): Promise<void> {
  counts.requeued += await requeueStaleEvents(sql, run.provider, REMINDER)
}

/** Judges the payments of the window's unmatched events, unless a page contained them. */
export async function compareUnmatchedEvents(comparison: Comparison): Promise<void> {
  const { sql, run } = comparison
  let last: UnmatchedEvent | undefined
  for (;;) {
    const page = await listUnmatchedEvents(sql, run, last)
    const ids = page.map(({ providerPaymentId }) => providerPaymentId)
    const missed = await notComparedAmong(sql, run.id, ids)
    await throwIfEnded(comparison)
    for (const id of untilStopped(comparison, missed)) {
      await compareObject(comparison, paymentRecords, id)
      await recordCompared(sql, run.id, [id])
    }
    last = page.at(-1)
    if (last === undefined) return
  }
}
