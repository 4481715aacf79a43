// Lists and requeues dead letters: jobs out of retries, which pg-boss moved to separate queues with
// their last error. They stay there until an operator handles them.
import type { ProviderEventRef } from '../../domain/events/provider-event.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import {
  addJobs,
  providerEventJob,
  JOB_SCHEMA,
  OPERATIONS_DEAD_LETTERS,
  PROVIDER_EVENTS_DEAD_LETTERS,
  RECONCILIATIONS_DEAD_LETTERS,
  RECONCILIATIONS_QUEUE,
  WEBHOOKS_DEAD_LETTERS,
} from './jobs.ts'
import type { Page, PageRequest } from '../connection/pages.ts'

export const deadLetterQueues = [
  OPERATIONS_DEAD_LETTERS,
  PROVIDER_EVENTS_DEAD_LETTERS,
  WEBHOOKS_DEAD_LETTERS,
  RECONCILIATIONS_DEAD_LETTERS,
] as const
export type DeadLetterQueue = (typeof deadLetterQueues)[number]

export interface DeadLetter {
  readonly id: string
  readonly queue: DeadLetterQueue
  /** The queue in which the job ran out of retries; null when it was never in one. */
  readonly sourceQueue: string | null
  readonly job: Readonly<Record<string, unknown>>
  readonly retries: number | null
  /** The output of the last try. */
  readonly lastError: unknown
  readonly diedAt: Date
}

/** The driver returns a time as text. */
type Row = Omit<DeadLetter, 'diedAt'> & { readonly diedAt: string }

const deadLetterFromRow = (row: Row): DeadLetter => ({ ...row, diedAt: new Date(row.diedAt) })

/**
 * The last output is in `source_output` when pg-boss moved the job, and in `output` when we did.
 */
const columns = (sql: Sql | Transaction): Fragment => sql`
  id, name as queue, source_name as "sourceQueue", data as job, source_retry_count as retries,
  coalesce(source_output, output) as "lastError", created_on as "diedAt"
`

/**
 * The dead letters that no worker fetched: pg-boss's order of states starts with `created` and
 * `retry`.
 */
const waiting = (sql: Sql | Transaction, queues: readonly DeadLetterQueue[]): Fragment => sql`
  name = any(${[...queues]}::text[]) and state < 'active'
`

/**
 * Lists dead letters of one queue, or of all, newest first. Undefined when none has the cursor's
 * id. Ids of jobs are random, so the order is by time first.
 */
export async function listDeadLetters(
  sql: Sql,
  queue: DeadLetterQueue | undefined,
  { limit, startingAfter, endingBefore }: PageRequest,
): Promise<Page<DeadLetter> | undefined> {
  const condition = waiting(sql, queue === undefined ? deadLetterQueues : [queue])
  const cursor = startingAfter ?? endingBefore
  const position = cursor === undefined ? undefined : await findCursor(sql, condition, cursor)
  if (cursor !== undefined && position === undefined) return undefined
  const newestFirst = endingBefore === undefined
  const rows = await sql<Row[]>`
    select ${columns(sql)} from ${sql(JOB_SCHEMA)}.job
    where ${condition} ${position === undefined ? sql`` : pastCursor(sql, position, newestFirst)}
    order by ${newestFirst ? sql`created_on desc, id desc` : sql`created_on, id`}
    limit ${limit + 1}
  `
  const items = rows.slice(0, limit).map(deadLetterFromRow)
  return { items: newestFirst ? items : items.toReversed(), hasMore: rows.length > limit }
}

interface Cursor {
  readonly id: string
  readonly created_on: string
}

async function findCursor(sql: Sql, condition: Fragment, id: string): Promise<Cursor | undefined> {
  const [row] = await sql<Cursor[]>`
    select id, created_on::text as created_on from ${sql(JOB_SCHEMA)}.job
    where ${condition} and id = ${id}
  `
  return row
}

function pastCursor(
  sql: Sql,
  { id, created_on: createdOn }: Cursor,
  newestFirst: boolean,
): Fragment {
  const place = sql`(${createdOn}::timestamptz, ${id}::uuid)`
  return newestFirst ? sql`and (created_on, id) < ${place}` : sql`and (created_on, id) > ${place}`
}

/** The ids of the oldest dead letters of a queue. */
export async function findOldestDeadLetters(
  sql: Sql,
  queue: DeadLetterQueue,
  limit: number,
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from ${sql(JOB_SCHEMA)}.job
    where ${waiting(sql, [queue])}
    order by created_on, id
    limit ${limit}
  `
  return rows.map(({ id }) => id)
}

/** Deletes a dead letter and returns it. One of several concurrent callers gets it. */
export async function takeDeadLetterIfThere(
  tx: Transaction,
  queue: DeadLetterQueue,
  id: string,
): Promise<DeadLetter | undefined> {
  const [row] = await tx<Row[]>`
    delete from ${tx(JOB_SCHEMA)}.job
    where ${waiting(tx, [queue])} and id = ${id}
    returning ${columns(tx)}
  `
  return row && deadLetterFromRow(row)
}

/**
 * Requeues a provider event with a new job, unless it was applied. Returns false when it was, or
 * when there is no such event.
 */
export async function requeueProviderEventUnlessApplied(
  tx: Transaction,
  { provider, id }: ProviderEventRef,
  queue: string,
): Promise<boolean> {
  const [event] = await tx<{ tenantId: string | null }[]>`
    update provider_events set status = 'pending', settled_at = null
    where provider = ${provider} and id = ${id} and status <> 'applied'
    returning tenant_id as "tenantId"
  `
  if (event === undefined) return false
  await addJobs(tx, queue, [{ data: providerEventJob({ provider, id, ...event }) }])
  return true
}

/**
 * Requeues a reconciliation run with a new job. Returns false when the run is completed, or when
 * there is no such run.
 */
export async function requeueRunUnlessCompleted(tx: Transaction, id: string): Promise<boolean> {
  const { count } = await tx`
    select from reconciliation_runs where id = ${id} and status <> 'completed'
  `
  if (count === 1) await addJobs(tx, RECONCILIATIONS_QUEUE, [{ data: { runId: id } }])
  return count === 1
}
