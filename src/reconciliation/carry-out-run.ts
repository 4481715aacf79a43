// Runs a reconciliation: compares our records with the provider's, both ways. It keeps one page of
// records in memory, writes only findings, the provider's fees and requests to the usual phases, and
// can be restarted at any time.
import {
  beginRunUnlessCompleted,
  completeRunUnlessCompleted,
  failAbandonedRuns,
  failRunIfRunning,
  findRunToForget,
  deleteProgress,
} from '../db/reconciliation/reconciliation-runs.ts'
import type { Engine } from '../engine/engine.ts'
import { disputeRecords } from './compare-disputes.ts'
import { compareMovements, compareUnseenLedgerMovements } from './compare-movements.ts'
import { compareUnmatchedEvents, requeueEvents } from './compare-events.ts'
import { paymentRecords } from './compare-payments.ts'
import { compareListed, compareUnseen, compareWaiting } from './compare-records.ts'
import { refundRecords } from './compare-refunds.ts'
import {
  newCounts,
  RunCompleted,
  type Comparison,
  type ComparisonWatcher,
  type Counts,
} from './comparison.ts'
import type { Window } from '../provider/payment-provider.ts'

const silentWatcher: ComparisonWatcher = { progressed: () => {}, found: () => {} }

export type RunParts = Pick<Engine, 'store' | 'providers' | 'clock' | 'log'>

export interface RunOptions {
  readonly watcher?: ComparisonWatcher
  /** Stops the run before the next record; it can be restarted. */
  readonly signal?: AbortSignal
}

/**
 * Carries out a run and returns its counts; undefined when the run was already completed, or when
 * another worker completes it meanwhile.
 * Concurrent runs, of the same window or even the same run, are harmless.
 *
 * @throws what the store or the provider's connection throws. Then the run is `failed`.
 */
export async function carryOutRun(
  engine: RunParts,
  runId: string,
  { watcher = silentWatcher, signal = new AbortController().signal }: RunOptions = {},
): Promise<Counts | undefined> {
  const { providers, ...rest } = engine
  const { sql } = rest.store
  await tidyUp(engine)
  const run = await beginRunUnlessCompleted(sql, runId)
  if (run === undefined) return undefined
  const parts = { ...rest, provider: providers.named(run.provider) }
  const comparison: Comparison = { parts, run, counts: newCounts(), watcher, signal }
  try {
    await compare(comparison)
  } catch (error) {
    if (error instanceof RunCompleted) return undefined
    await failRunIfRunning(sql, runId, comparison.counts, reasonOf(error))
    throw error
  }
  await completeRunUnlessCompleted(sql, runId, comparison.counts)
  await deleteProgress(sql, runId)
  return comparison.counts
}

async function compare(comparison: Comparison): Promise<void> {
  await requeueEvents(comparison)
  await compareListed(comparison, paymentRecords)
  await compareListed(comparison, refundRecords)
  await compareUnseen(comparison, paymentRecords)
  await compareUnseen(comparison, refundRecords)
  await compareWaiting(comparison, refundRecords)
  await compareListed(comparison, disputeRecords)
  await compareWaiting(comparison, disputeRecords)
  await compareUnmatchedEvents(comparison)
  // After payments and refunds, because differences of those explain differences of their
  // movements.
  await compareMovements(comparison)
  await compareUnseenLedgerMovements(comparison)
  const { watcher, counts } = comparison
  watcher.progressed('ours', 1, counts)
}

/** Cleans up after runs that were interrupted. */
async function tidyUp({ store }: RunParts): Promise<void> {
  await failAbandonedRuns(store.sql)
  for (;;) {
    const endedRunId = await findRunToForget(store.sql)
    if (endedRunId === undefined) return
    await deleteProgress(store.sql, endedRunId)
  }
}

/** The reason as stored with the run. Error messages of drivers contain no parameters. */
function reasonOf(error: unknown): string {
  const text =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(text).slice(0, 500)
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** The last complete day. */
export function yesterday(now: Date): Window {
  const midnight = Math.floor(now.getTime() / DAY_MS) * DAY_MS
  return { from: new Date(midnight - DAY_MS), to: new Date(midnight) }
}

/**
 * The window between the given times. With one time only, it is the day after or before that time.
 */
export function windowOf(from: Date | undefined, to: Date | undefined, now: Date): Window {
  if (from !== undefined) return { from, to: to ?? new Date(from.getTime() + DAY_MS) }
  return to === undefined ? yesterday(now) : { from: new Date(to.getTime() - DAY_MS), to }
}
