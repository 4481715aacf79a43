// Runs a reconciliation: compares our records with the provider's, both ways. It keeps one page of
// records in memory, writes only findings, the provider's fees and requests to the usual phases, and
// can be restarted at any time.
import type { Sql } from '../db/connection/client.ts'
import { objectsOf } from '../db/connection/rows.ts'
import type { Engine } from '../engine/engine.ts'
import { disputeRecords, paymentRecords, refundRecords } from './record-kinds.ts'
import { compareUnmatchedEvents, requeueStaleEvents } from './compare-events.ts'
import { compareMovements, compareUnseenLedgerMovements } from './compare-movements.ts'
import { compareListed, compareUnseen, compareWaiting } from './compare-records.ts'
import { deleteProgress } from './compared-objects.ts'
import { noCounts, RunCompleted, type Comparison, type Counts } from './comparison.ts'
import { columns, LIFETIME_SECONDS, type Run } from './runs.ts'

export type RunParts = Pick<Engine, 'store' | 'providers' | 'clock' | 'log'>

/**
 * Carries out a run and returns its counts; undefined when the run was already completed, or when
 * another worker completes it meanwhile.
 * Concurrent runs, of the same window or even the same run, are harmless.
 *
 * @throws what the store or the provider's connection throws. Then the run is `failed`.
 */
export async function carryOutRun(
  { store: { sql }, providers, clock, log }: RunParts,
  runId: string,
  options: Partial<Pick<Comparison, 'watcher' | 'signal'>> = {},
): Promise<Counts | undefined> {
  const { watcher, signal = new AbortController().signal } = options
  await tidyUp(sql)
  const run = await beginRunUnlessCompleted(sql, runId)
  if (run === undefined) return undefined
  const counts = { ...noCounts }
  const provider = providers.named(run.provider)
  try {
    await compare({ sql, clock, log, provider, run, counts, watcher, signal })
  } catch (error) {
    if (error instanceof RunCompleted) return undefined
    await endRunUnlessCompleted(sql, runId, counts, reasonOf(error))
    throw error
  }
  await endRunUnlessCompleted(sql, runId, counts)
  await deleteProgress(sql, runId)
  return counts
}

async function compare(comparison: Comparison): Promise<void> {
  const { sql, run, counts, watcher } = comparison
  counts.requeued += await requeueStaleEvents(sql, run.provider)
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
  watcher?.progressed('ours', 1, counts)
}

/**
 * Starts a run, or restarts it. Undefined when it is completed, or when there is none. The objects
 * that an earlier try compared stay recorded.
 */
export async function beginRunUnlessCompleted(sql: Sql, id: string): Promise<Run | undefined> {
  const begun = await sql`
    update reconciliation_runs
    set status = 'running', counts = '{}', last_error = null, finished_at = null
    where id = ${id} and status <> 'completed'
    returning ${columns(sql)}
  `
  return objectsOf<Run>(begun)[0]
}

/**
 * Completes the run, even if an earlier try that lost its job has failed it meanwhile; with an error, fails
 * it if it is running.
 */
export async function endRunUnlessCompleted(
  sql: Sql,
  id: string,
  counts: Run['counts'],
  error: string | null = null,
): Promise<void> {
  await sql`
    update reconciliation_runs set
      status = ${error === null ? 'completed' : 'failed'},
      counts = ${JSON.stringify(counts)}::jsonb, last_error = ${error}, finished_at = now()
    where id = ${id} and status <> 'completed' and (${error === null} or status = 'running')
  `
}

/**
 * Fails the runs whose workers crashed and whose retries are over, and deletes the compared objects of
 * those that cannot start again.
 */
export async function tidyUp(sql: Sql): Promise<void> {
  await sql`
    update reconciliation_runs
    set status = 'failed', last_error = 'stopped half-way', finished_at = now()
    where status = 'running' and created_at < now() - ${LIFETIME_SECONDS} * interval '1 second'
  `
  const ended = await sql<{ id: string }[]>`
    select id from reconciliation_runs as run
    where (
        status = 'completed'
        or status = 'failed' and created_at < now() - ${LIFETIME_SECONDS} * interval '1 second'
      )
      and exists (select from reconciliation_seen where run_id = run.id)
  `
  for (const { id } of ended) await deleteProgress(sql, id)
}

/** The reason as stored with the run. Error messages of drivers contain no parameters. */
function reasonOf(error: unknown): string {
  const text =
    typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(text).slice(0, 500)
}
