// Requests and finds reconciliation runs.
import { randomUUIDv7 } from 'node:crypto'
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import { listOf, type Page, type PageRequest } from '../db/connection/pages.ts'
import { objectsOf } from '../db/connection/rows.ts'
import { addJobs, JOB_SCHEMA, RECONCILIATIONS_QUEUE } from '../db/queue/jobs.ts'
import type { reconciliationRuns } from '../db/schema/reconciliation.ts'
import type { Window } from '../provider/payment-provider.ts'

/** The window to compare, with one provider. */
export interface RunRequest extends Window {
  readonly provider: string
  /** The name of an operator, or one of the constants below. */
  readonly requestedBy: string
}

export const BY_SCHEDULE = 'schedule'
export const BY_COMMAND = 'command line'

export type Run = RunRequest &
  Readonly<Omit<typeof reconciliationRuns.$inferSelect, 'windowFrom' | 'windowTo'>>

/** The select list of a run. */
export const columns = (sql: Sql | Transaction): Fragment => sql`
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
export const LIFETIME_SECONDS = 3 * 24 * 60 * 60

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
  { provider, from, to }: Omit<RunRequest, 'requestedBy'>,
): Promise<boolean> {
  const { count } = await sql`
    select from reconciliation_runs
    where provider = ${provider} and window_from = ${from.toISOString()}
      and window_to = ${to.toISOString()} and requested_by = ${BY_SCHEDULE}
    limit 1
  `
  return count > 0
}

export async function findRun(sql: Sql | Transaction, id: string): Promise<Run | undefined> {
  const found = await sql`select ${columns(sql)} from reconciliation_runs where id = ${id}`
  return objectsOf<Run>(found)[0]
}

/** Lists runs, newest first. Undefined when none has the cursor's id. */
export const listRuns = (sql: Sql, request: PageRequest): Promise<Page<Run> | undefined> =>
  listOf(sql, undefined, { table: 'reconciliation_runs', columns: columns(sql) }, request)

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
