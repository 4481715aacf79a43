// Takes up what the provider has told and nobody has dealt with: events whose job was lost are put back
// to work, and those that no payment was found for are held against the provider's record itself.
import {
  listUnmatchedEvents,
  requeueStaleEvents,
  type UnmatchedEvent,
} from '../db/events/stale-provider-events.ts'
import { recordCompared, notComparedAmong } from '../db/reconciliation/reconciliation-progress.ts'
import { REMINDER } from '../domain/events/provider-event.ts'
import { judgePage } from './compare-payments.ts'
import type { Comparison } from './comparison.ts'

export async function requeueEvents({ parts, run, counts }: Comparison): Promise<void> {
  counts.requeued += await requeueStaleEvents(parts.store.sql, run.provider, REMINDER)
}

/** Judges the payments that unmatched events of the window are about, unless a page had them. */
export async function compareUnmatchedEvents(comparison: Comparison): Promise<void> {
  const { parts, run, signal } = comparison
  const { sql } = parts.store
  let last: UnmatchedEvent | undefined
  for (;;) {
    const page = await listUnmatchedEvents(sql, run, last)
    const named = page.map(({ providerPaymentId }) => providerPaymentId)
    for (const id of await notComparedAmong(sql, run.id, named)) {
      signal.throwIfAborted()
      const theirs = await parts.provider.readPayment(id)
      if (theirs !== undefined) await judgePage(comparison, [theirs])
      await recordCompared(sql, run.id, [id])
    }
    last = page.at(-1)
    if (last === undefined) return
  }
}
