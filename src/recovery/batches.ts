// Work that nobody waits for, in batches: each a matter of milliseconds, and a rest after it, so that those
// who wait for the same database get most of it.
import { setTimeout as rest } from 'node:timers/promises'

/** With full batches a round ends here, so that it never keeps a worker from stopping. */
const BATCHES_MAX = 50

/** How long the rest is, by how long the batch took: a third of the time is work. */
const REST_PER_WORK = 2

export interface Batch<Cursor> {
  readonly count: number
  /** Where the next batch goes on; undefined when there is none. */
  readonly next: Cursor | undefined
}

/** Goes on from batch to batch, and returns how many they were in all. */
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

/** Goes on as long as batches are full. */
export function inFullBatches(limit: number, work: () => Promise<number>): Promise<number> {
  return inBatches<true>(async () => {
    const count = await work()
    return { count, next: count < limit ? undefined : true }
  })
}
