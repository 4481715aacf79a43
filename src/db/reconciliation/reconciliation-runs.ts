// Requests, starts and ends reconciliation runs.
import { randomUUIDv7 } from 'node:crypto'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { addJobs, JOB_SCHEMA, RECONCILIATIONS_QUEUE } from '../queue/jobs.ts'
import { listOf, type Page, type PageRequest } from '../connection/pages.ts'
import { objectsOf } from '../connection/rows.ts'
import type { reconciliationRuns } from '../schema/reconciliation.ts'
import type { MovementKind } from '../../domain/ledger/ledger.ts'

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

export type Run = RunRequest &
  Readonly<Omit<typeof reconciliationRuns.$inferSelect, 'windowFrom' | 'windowTo'>>

const columns = (sql: Sql | Transaction): Fragment => sql`
  id, provider, window_from as "from", window_to as "to", status, requested_by, counts, last_error,
  created_at, finished_at
`

/**
 * Requests a run of a window, for a worker. An unfinished run of the same window is returned
 * instead, and nothing is written. Two concurrent requests may still insert two runs, which is
 * harmless.
 *
 * @throws the driver's error when the window ends before it starts.
 */
export async function requestReconciliation(tx: Transaction, request: RunRequest): Promise<Run> {
  const underWay = await tx`
    select ${columns(tx)} from reconciliation_runs as run
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
  const [run] = objectsOf<Run>(underWay)
  if (run !== undefined) return run
  const inserted = await insertRun(tx, request)
  await addJobs(tx, RECONCILIATIONS_QUEUE, [{ data: { runId: inserted.id } }])
  return inserted
}

/** How long a run counts as active: longer than all tries of its job. */
const LIFETIME_SECONDS = 3 * 24 * 60 * 60

/** Inserts a run that the caller carries out, without a job. */
export async function insertRun(sql: Sql | Transaction, request: RunRequest): Promise<Run> {
  const inserted = await sql`
    insert into reconciliation_runs (id, provider, window_from, window_to, requested_by)
    values (
      ${randomUUIDv7()}, ${request.provider}, ${request.from.toISOString()},
      ${request.to.toISOString()}, ${request.requestedBy}
    )
    returning ${columns(sql)}
  `
  const [run] = objectsOf<Run>(inserted)
  if (run === undefined) throw new Error('the insert of a run returned no row')
  return run
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
  const found = await sql`select ${columns(sql)} from reconciliation_runs where id = ${id}`
  return objectsOf<Run>(found)[0]
}

/** Lists runs, newest first. Undefined when none has the cursor's id. */
export const listRuns = (sql: Sql, request: PageRequest): Promise<Page<Run> | undefined> =>
  listOf(sql, undefined, { table: 'reconciliation_runs', columns: columns(sql) }, request)

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

/** Completes the run, even if an earlier try that lost its job has failed it meanwhile. */
export async function completeRunUnlessCompleted(
  sql: Sql,
  id: string,
  counts: Run['counts'],
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
  counts: Run['counts'],
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

// Records which of the provider's objects a reconciliation run has compared.

/** Records objects as compared by a run, and returns those that were new. */
export async function recordCompared(
  sql: Sql | Transaction,
  runId: string,
  objectIds: readonly string[],
): Promise<Set<string>> {
  const rows = await sql<{ object_id: string }[]>`
    insert into reconciliation_seen (run_id, object_id)
    select ${runId}::uuid, object_id from unnest(${[...new Set(objectIds)]}::text[]) as object_id
    -- The same order for all workers on the run, so that they do not deadlock.
    order by object_id
    on conflict do nothing
    returning object_id
  `
  return new Set(rows.map((row) => row.object_id))
}

/**
 * Whether a run has not compared an object. The table is filled and emptied faster than its
 * statistics are updated, so the planner assumes that it is empty. The offset makes it use the
 * index instead of a full scan.
 */
export function isNotCompared(sql: Sql, runId: string, object: Fragment): Fragment {
  return sql`
    not exists (
      select from reconciliation_seen as seen
      where seen.run_id = ${runId} and seen.object_id = ${object}
      offset 0
    )
  `
}

/** The objects that a run has not compared. */
export async function notComparedAmong(
  sql: Sql,
  runId: string,
  objectIds: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ object_id: string }[]>`
    select distinct object_id from unnest(${[...objectIds]}::text[]) as object_id
    where ${isNotCompared(sql, runId, sql`object_id.object_id`)}
  `
  return rows.map((row) => row.object_id)
}

const DELETE_BATCH = 10_000

/**
 * Deletes the compared objects of a run, in batches. What another worker deletes is skipped: two
 * that waited for each other's rows would deadlock.
 */
export async function deleteProgress(sql: Sql, runId: string): Promise<void> {
  for (;;) {
    const { count } = await sql`
      with batch as materialized (
        select run_id, object_id from reconciliation_seen where run_id = ${runId}
        limit ${DELETE_BATCH}
        for update skip locked
      )
      delete from reconciliation_seen as seen using batch
      where seen.run_id = batch.run_id and seen.object_id = batch.object_id
    `
    if (count < DELETE_BATCH) return
  }
}

/** The name under which a movement is recorded, beside its own id. */
export const seenMovement = (kind: MovementKind, objectId: string): string => `${kind} ${objectId}`
/**
 * The name under which a run records that it has reported an object, also when a finding existed
 * before.
 */
export const seenReport = (objectId: string): string => `reported ${objectId}`
