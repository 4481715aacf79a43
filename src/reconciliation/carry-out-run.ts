// Carries out a comparison of our records with the provider's, both ways. It holds one page of records at
// a time, writes nothing but findings and what sets the usual phases going, and can be begun anew.
import {
  beginRunUnlessCompleted,
  completeRunUnlessCompleted,
  failAbandonedRuns,
  failRunIfRunning,
  findRunToForget,
} from '../db/reconciliation/reconciliation-runs.ts'
import { deleteProgress } from '../db/reconciliation/reconciliation-progress.ts'
import { compareUnmatchedEvents, requeueEvents } from './compare-events.ts'
import { compareMovements, compareUnseenBookings } from './compare-movements.ts'
import { comparePayments, compareUnseenPayments } from './compare-payments.ts'
import { compareRefunds, compareUnseenRefunds } from './compare-refunds.ts'
import {
  newCounts,
  type Comparison,
  type ComparisonParts,
  type ComparisonWatcher,
  type Counts,
} from './comparison.ts'

const nobody: ComparisonWatcher = { progressed: () => {}, found: () => {} }

export interface RunOptions {
  readonly watcher?: ComparisonWatcher
  /** Ends the run between two pages; it can be begun anew. */
  readonly signal?: AbortSignal
}

/**
 * Carries out a run, and says how much it has compared and found. Undefined when it was completed before.
 * Two at once, of the same window or of the same run, do no harm.
 *
 * @throws what the store or the provider's connection throws. The run is `failed` then.
 */
export async function carryOutRun(
  parts: ComparisonParts,
  runId: string,
  { watcher = nobody, signal = new AbortController().signal }: RunOptions = {},
): Promise<Counts | undefined> {
  const { sql } = parts.store
  await tidyUp(parts)
  const run = await beginRunUnlessCompleted(sql, runId)
  if (run === undefined) return undefined
  const comparison: Comparison = { parts, run, counts: newCounts(), watcher, signal }
  try {
    await compare(comparison)
  } catch (error) {
    await failRunIfRunning(sql, runId, comparison.counts, reasonOf(error))
    throw error
  }
  await completeRunUnlessCompleted(sql, runId, comparison.counts)
  await deleteProgress(sql, runId)
  return comparison.counts
}

async function compare(comparison: Comparison): Promise<void> {
  await requeueEvents(comparison)
  await comparePayments(comparison)
  await compareRefunds(comparison)
  await compareUnseenPayments(comparison)
  await compareUnseenRefunds(comparison)
  await compareUnmatchedEvents(comparison)
  // After the payments and refunds: what is wrong with those explains their movements.
  await compareMovements(comparison)
  await compareUnseenBookings(comparison)
  const { watcher, counts } = comparison
  watcher.progressed('ours', 1, counts)
}

/** What runs have left behind that ended in the middle. */
async function tidyUp({ store }: ComparisonParts): Promise<void> {
  await failAbandonedRuns(store.sql)
  for (;;) {
    const ended = await findRunToForget(store.sql)
    if (ended === undefined) return
    await deleteProgress(store.sql, ended)
  }
}

/** Fit for a row: what drivers say of an error has no parameters in it. */
function reasonOf(error: unknown): string {
  const text =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(text).slice(0, 500)
}
