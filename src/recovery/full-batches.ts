// Runs background work in batches. Each batch takes only milliseconds and is followed by a pause,
// so that requests get most of the database.
import { setTimeout as rest } from 'node:timers/promises'

/** A round ends after this many full batches, so that it never delays a shutdown. */
const BATCHES_MAX = 50

/** The length of a pause relative to the batch before it: a third of the time is work. */
const REST_PER_WORK = 2

/** Runs batches as long as they are full, each with at most `limit`. Returns the total count. */
export async function inFullBatches(limit: number, work: () => Promise<number>): Promise<number> {
  let total = 0
  for (let batches = 1; batches <= BATCHES_MAX; batches += 1) {
    const startedAt = performance.now()
    const count = await work()
    total += count
    if (count < limit) break
    await rest((performance.now() - startedAt) * REST_PER_WORK)
  }
  return total
}
