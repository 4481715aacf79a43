// Compares the payments of the provider's events that match none of ours.
import { listUnmatchedEvents, type UnmatchedEvent } from '../db/events/provider-events.ts'
import { paymentRecords } from './compare-payments.ts'
import { compareObject } from './compare-records.ts'
import { notComparedAmong, recordCompared } from './compared-objects.ts'
import { throwIfEnded, type Comparison } from './comparison.ts'

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
