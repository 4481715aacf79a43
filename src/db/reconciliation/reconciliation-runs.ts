// Requests, starts and ends reconciliation runs.
import { randomUUIDv7 } from 'node:crypto'
import type { RunStatus } from '../../domain/operations/finding.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { addJobs } from '../queue/jobs.ts'
import { readPage, type Page, type PageRequest } from '../connection/pages.ts'
import { inService } from '../connection/transaction.ts'
import { JOB_SCHEMA, RECONCILIATIONS_QUEUE } from '../queue/queues.ts'
import type { reconciliationRuns } from '../schema/reconciliation/runs.ts'
import type { RowOf } from '../schema/row-of.ts'

/** The window to compare: its start is inclusive, its end exclusive. */
export interface RunRequest {
  readonly provider: string
  readonly from: Date
  readonly to: Date
  /** The name of an operator, or one of the constants below. */
  readonly requestedBy: string
}

export const BY_SCHEDULE = 'schedule'
export const BY_COMMAND = 'command line'

export interface Run extends RunRequest {
  readonly id: string
  readonly status: RunStatus
  /** How much was compared, found and repaired. */
  readonly counts: Readonly<Record<string, number>>
  readonly lastError: string | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

type RunRow = RowOf<typeof reconciliationRuns>

function runFromRow(row: RunRow): Run {
  return {
    id: row.id,
    provider: row.provider,
    from: new Date(row.window_from),
    to: new Date(row.window_to),
    status: row.status,
    requestedBy: row.requested_by,
    counts: row.counts,
    lastError: row.last_error,
    createdAt: new Date(row.created_at),
    finishedAt: row.finished_at === null ? null : new Date(row.finished_at),
  }
}

/**
 * Requests a run of a window, for a worker. An unfinished run of the same window is returned
 * instead, and nothing is written. Two concurrent requests may still insert two runs, which is
 * harmless.
 *
 * @throws the driver's error when the window ends before it starts.
 */
export async function requestReconciliation(tx: Transaction, request: RunRequest): Promise<Run> {
  const [underWay] = await tx<{ run: RunRow }[]>`
    select to_jsonb(run) as run from reconciliation_runs as run
    where provider = ${request.provider} and window_from = ${request.from.toISOString()}
      and window_to = ${request.to.toISOString()} and status in ('pending', 'running')
      and requested_by <> ${BY_COMMAND}
      and created_at > now() - ${LIFETIME_SECONDS} * interval '1 second'
      -- Without its job no worker would ever continue the run.
      and exists (
        select from ${tx(JOB_SCHEMA)}.job
        where name = ${RECONCILIATIONS_QUEUE} and state < 'completed'
          and data ->> 'runId' = run.id::text
      )
    order by id desc
    limit 1
  `
  if (underWay !== undefined) return runFromRow(underWay.run)
  const run = await insertRun(tx, request)
  await addJobs(tx, RECONCILIATIONS_QUEUE, [{ data: { runId: run.id } }])
  return run
}

/** How long a run counts as active: longer than all tries of its job. */
const LIFETIME_SECONDS = 3 * 24 * 60 * 60

/** Inserts a run that the caller carries out, without a job. */
export async function insertRun(sql: Sql | Transaction, request: RunRequest): Promise<Run> {
  const [row] = await sql<{ run: RunRow }[]>`
    insert into reconciliation_runs as run (id, provider, window_from, window_to, requested_by)
    values (
      ${randomUUIDv7()}, ${request.provider}, ${request.from.toISOString()},
      ${request.to.toISOString()}, ${request.requestedBy}
    )
    returning to_jsonb(run) as run
  `
  if (row === undefined) throw new Error('the insert of a run returned no row')
  return runFromRow(row.run)
}

/** Whether the schedule has already requested a run of this window. */
export async function hasScheduledRun(
  sql: Sql,
  { provider, from, to }: Pick<RunRequest, 'provider' | 'from' | 'to'>,
): Promise<boolean> {
  const { count } = await sql`
    select from reconciliation_runs
    where provider = ${provider} and window_from = ${from.toISOString()}
      and window_to = ${to.toISOString()} and requested_by = ${BY_SCHEDULE}
    limit 1
  `
  return count > 0
}

/** Finds a reconciliation run. */
export async function findRun(sql: Sql | Transaction, id: string): Promise<Run | undefined> {
  const [row] = await sql<{ run: RunRow }[]>`
    select to_jsonb(run) as run from reconciliation_runs as run where id = ${id}
  `
  return row && runFromRow(row.run)
}

/** Lists runs, newest first. Undefined when none has the cursor's id. */
export async function listRuns(sql: Sql, request: PageRequest): Promise<Page<Run> | undefined> {
  const list = {
    columns: sql`to_jsonb(run) as run`,
    entries: sql`from reconciliation_runs as run where true`,
    fromRow: ({ run }: { run: RunRow }) => runFromRow(run),
  }
  return await inService(sql, (tx) => readPage(tx, list, request))
}

/**
 * Starts a run, or restarts it. Undefined when it is completed, or when there is none. The objects
 * that an earlier try compared stay recorded.
 */
export async function beginRunUnlessCompleted(sql: Sql, id: string): Promise<Run | undefined> {
  const [row] = await sql<{ run: RunRow }[]>`
    update reconciliation_runs as run
    set status = 'running', counts = '{}', last_error = null, finished_at = null
    where id = ${id} and status <> 'completed'
    returning to_jsonb(run) as run
  `
  return row && runFromRow(row.run)
}

/** Completes the run, even if an earlier try that lost its job has failed it meanwhile. */
export async function completeRunUnlessCompleted(
  sql: Sql,
  id: string,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  await sql`
    update reconciliation_runs
    set status = 'completed', counts = ${JSON.stringify(counts)}::jsonb, last_error = null,
      finished_at = now()
    where id = ${id} and status <> 'completed'
  `
}

/** Marks a running run as failed, with what it has counted. */
export async function failRunIfRunning(
  sql: Sql,
  id: string,
  counts: Readonly<Record<string, number>>,
  error: string,
): Promise<void> {
  await sql`
    update reconciliation_runs
    set status = 'failed', counts = ${JSON.stringify(counts)}::jsonb, last_error = ${error},
      finished_at = now()
    where id = ${id} and status = 'running'
  `
}

/** Fails the runs whose workers crashed and whose retries are over. */
export async function failAbandonedRuns(sql: Sql): Promise<void> {
  await sql`
    update reconciliation_runs
    set status = 'failed', last_error = 'stopped half-way', finished_at = now()
    where status = 'running' and created_at < now() - ${LIFETIME_SECONDS} * interval '1 second'
  `
}

/** A run that cannot start again and that still has recorded objects. */
export async function findRunToForget(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from reconciliation_runs as run
    where (
        status = 'completed'
        or status = 'failed' and created_at < now() - ${LIFETIME_SECONDS} * interval '1 second'
      )
      and exists (select from reconciliation_seen where run_id = run.id)
    limit 1
  `
  return row?.id
}
