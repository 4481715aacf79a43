// Handles the provider's events that were never processed: events whose job was lost get a new one,
// and the payments of unmatched events are read from the provider and compared.
import {
  listUnmatchedEvents,
  requeueStaleEvents,
  type UnmatchedEvent,
} from '../db/events/provider-events.ts'
import { recordCompared, notComparedAmong } from '../db/reconciliation/reconciliation-progress.ts'
import { REMINDER } from '../domain/events/provider-event.ts'
import { judgePage } from './compare-payments.ts'
import { throwIfEnded, untilStopped, type Comparison } from './comparison.ts'

export async function requeueEvents({ parts, run, counts }: Comparison): Promise<void> {
  counts.requeued += await requeueStaleEvents(parts.store.sql, run.provider, REMINDER)
}

/** Judges the payments of the window's unmatched events, unless a page contained them. */
export async function compareUnmatchedEvents(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const { sql } = parts.store
  let last: UnmatchedEvent | undefined
  for (;;) {
    const page = await listUnmatchedEvents(sql, run, last)
    const ids = page.map(({ providerPaymentId }) => providerPaymentId)
    const missed = await notComparedAmong(sql, run.id, ids)
    await throwIfEnded(comparison)
    for (const id of untilStopped(comparison, missed)) {
      const theirs = await parts.provider.readPayment(id)
      if (theirs !== undefined) await judgePage(comparison, [theirs])
      await recordCompared(sql, run.id, [id])
    }
    last = page.at(-1)
    if (last === undefined) return
  }
}
