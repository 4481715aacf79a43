// Runs background work in batches. Each batch takes only milliseconds and is followed by a pause,
// so that requests get most of the database.
import { setTimeout as rest } from 'node:timers/promises'

/** A round ends after this many full batches, so that it never delays a shutdown. */
const BATCHES_MAX = 50

/** The length of a pause relative to the batch before it: a third of the time is work. */
const REST_PER_WORK = 2

export interface Batch<Cursor> {
  readonly count: number
  /** Where the next batch continues; undefined when this was the last one. */
  readonly next: Cursor | undefined
}

/** Runs batch after batch, and returns the total count. */
export async function inBatches<Cursor>(
  work: (after: Cursor | undefined) => Promise<Batch<Cursor>>,
): Promise<number> {
  let total = 0
  let after: Cursor | undefined
  for (let batches = 1; batches <= BATCHES_MAX; batches += 1) {
    const startedAt = performance.now()
    const { count, next } = await work(after)
    total += count
    if (next === undefined) break
    after = next
    await rest((performance.now() - startedAt) * REST_PER_WORK)
  }
  return total
}

/** Runs batches as long as they are full. */
export function inFullBatches(limit: number, work: () => Promise<number>): Promise<number> {
  return inBatches<true>(async () => {
    const count = await work()
    return { count, next: count < limit ? undefined : true }
  })
}
