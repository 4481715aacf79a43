// Lists and redrives dead letters: jobs out of retries, which pg-boss moved to separate queues with
// their last error. They stay there until an operator handles them. A new job alone would find nothing to
// do, because the work of the job was given up as well. So each queue has its own way to restart the work.
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import { isAscending, toPage, type Page, type PageRequest } from '../db/connection/pages.ts'
import { objectsOf } from '../db/connection/rows.ts'
import {
  addJobs,
  type ProviderEventJob,
  JOB_SCHEMA,
  OPERATIONS_DEAD_LETTERS,
  PROVIDER_EVENTS_DEAD_LETTERS,
  PROVIDER_EVENTS_QUEUE,
  RECONCILIATIONS_DEAD_LETTERS,
  RECONCILIATIONS_QUEUE,
  REMINDERS_QUEUE,
  WEBHOOKS_DEAD_LETTERS,
} from '../db/queue/jobs.ts'
import { findDelivery, redeliverIfEnabled } from '../db/webhooks/webhook-deliveries.ts'
import type { ProviderEventRef } from '../domain/events/provider-event.ts'
import type { Engine } from '../engine/engine.ts'
import { resumeOperation } from './sweeper.ts'

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

/**
 * Those of `DeadLetter`. The last output is in `source_output` when pg-boss moved the job, and in `output`
 * when we did.
 */
const columns = (sql: Sql | Transaction): Fragment => sql`
  id, name as queue, source_name as source_queue, data as job, source_retry_count as retries,
  coalesce(source_output, output) as last_error, created_on as died_at
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
  request: PageRequest,
): Promise<Page<DeadLetter> | undefined> {
  const condition = waiting(sql, queue === undefined ? deadLetterQueues : [queue])
  const [past, order] = isAscending(request) ? [sql`>`, sql`asc`] : [sql`<`, sql`desc`]
  const cursor = request.startingAfter ?? request.endingBefore
  let page = condition
  if (cursor !== undefined) {
    const [row] = await sql<{ created_on: string }[]>`
      select created_on::text as created_on from ${sql(JOB_SCHEMA)}.job
      where ${condition} and id = ${cursor}
    `
    if (row === undefined) return undefined
    const place = sql`(${row.created_on}::timestamptz, ${cursor}::uuid)`
    page = sql`${condition} and (created_on, id) ${past} ${place}`
  }
  const rows = await sql`
    select ${columns(sql)} from ${sql(JOB_SCHEMA)}.job
    where ${page}
    order by created_on ${order}, id ${order}
    limit ${request.limit + 1}
  `
  return toPage(objectsOf<DeadLetter>(rows), request)
}

/** A dead letter cannot be redriven and stays in its queue. */
export class KeptDeadLetterError extends Error {
  override name = 'KeptDeadLetterError'
}

/**
 * Removes a dead letter from its queue, and returns it. One of several concurrent callers gets it.
 *
 * @throws KeptDeadLetterError when there is none.
 */
export async function takeDeadLetter(
  tx: Transaction,
  queue: DeadLetterQueue,
  id: string,
): Promise<DeadLetter> {
  const taken = await tx`
    delete from ${tx(JOB_SCHEMA)}.job
    where ${waiting(tx, [queue])} and id = ${id}
    returning ${columns(tx)}
  `
  const [letter] = objectsOf<DeadLetter>(taken)
  if (letter === undefined) throw new KeptDeadLetterError('there is no such dead letter')
  return letter
}

/**
 * Restarts the work of a dead letter that was taken from its queue. False when nothing was left to do.
 *
 * @throws KeptDeadLetterError, or StaleResourceError when it is too late for the operation. The
 *   caller's transaction must fail with it, so that the dead letter stays.
 */
export async function redrive(
  tx: Transaction,
  parts: Pick<Engine, 'operations'>,
  { queue, sourceQueue, job }: DeadLetter,
): Promise<boolean> {
  switch (queue) {
    case OPERATIONS_DEAD_LETTERS: {
      const ref = { tenantId: uuidIn(job, 'tenantId'), id: uuidIn(job, 'operationId') }
      return (await resumeOperation(tx, parts, ref)) !== 'nothing'
    }
    case PROVIDER_EVENTS_DEAD_LETTERS: {
      const ref = { provider: textIn(job, 'provider'), id: textIn(job, 'eventId') }
      const to = sourceQueue === REMINDERS_QUEUE ? REMINDERS_QUEUE : PROVIDER_EVENTS_QUEUE
      return await requeueProviderEventUnlessApplied(tx, ref, to)
    }
    case WEBHOOKS_DEAD_LETTERS: {
      const ref = { tenantId: uuidIn(job, 'tenantId'), id: uuidIn(job, 'deliveryId') }
      const delivery = await findDelivery(tx, ref.tenantId, ref.id)
      if (delivery === undefined || delivery.status === 'succeeded') return false
      if (await redeliverIfEnabled(tx, ref)) return true
      throw new KeptDeadLetterError('the webhook endpoint is disabled')
    }
    case RECONCILIATIONS_DEAD_LETTERS:
      return await requeueRunUnlessCompleted(tx, uuidIn(job, 'runId'))
  }
}

/**
 * Requeues a provider event with a new job. False when it was applied, or when there is no such event.
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
  const data: ProviderEventJob = { provider, eventId: id, ...event }
  await addJobs(tx, queue, [{ data }])
  return true
}

/** Requeues a reconciliation run with a new job. False when it is completed, or there is no such run. */
export async function requeueRunUnlessCompleted(tx: Transaction, id: string): Promise<boolean> {
  const { count } = await tx`
    select from reconciliation_runs where id = ${id} and status <> 'completed'
  `
  if (count === 1) await addJobs(tx, RECONCILIATIONS_QUEUE, [{ data: { runId: id } }])
  return count === 1
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function uuidIn(job: DeadLetter['job'], name: string): string {
  const text = textIn(job, name)
  if (UUID.test(text)) return text
  throw new KeptDeadLetterError('the job is malformed')
}

function textIn(job: DeadLetter['job'], name: string): string {
  const value = job[name]
  if (typeof value === 'string') return value
  throw new KeptDeadLetterError('the job is malformed')
}
