// The sweeper: resumes or parks operations whose lease expired, and replaces lost jobs. It never
// makes a provider call itself. Each write repeats its condition, so that several sweepers may run
// at once. Each statement scans only unfinished operations.
import { randomUUID } from 'node:crypto'
import type { Sql, Transaction } from '../db/connection/client.ts'
import { isStoreUnavailable } from '../db/connection/store-errors.ts'
import { asService, inService, inTenant, together } from '../db/connection/transaction.ts'
import { nextCheckAt, readUnknownFor } from '../db/operations/leases.ts'
import { readOperation, type OperationRow } from '../db/operations/operation-rows.ts'
import {
  addJobs,
  addOperationJobs,
  findQueued,
  queuedColumns,
  type QueuedOperation,
  JOB_SCHEMA,
  OPERATIONS_DEAD_LETTERS,
  OPERATIONS_QUEUE,
} from '../db/queue/jobs.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { operationNamed, type Engine } from '../engine/engine.ts'
import { keyWindowSeconds } from '../provider/capabilities.ts'
import { inFullBatches } from './full-batches.ts'
import { isAtOneOf, phasesWith, type PhaseName } from './phase-names.ts'
import { requestCheckIfUnknown } from '../db/operations/requested-checks.ts'
import { reopenOperationIn } from '../engine/reopen-or-cancel.ts'

/** Operations per statement, so that each statement takes only milliseconds. */
const BATCH = 50

/** The rows of a backlog that one sweep scans: the oldest, which move next anyway. */
const SCAN_LIMIT = 1_000

/** Sweeps once, and counts by problem. Concurrent sweeps, in this and in other processes, are harmless. */
export async function sweep(engine: Engine) {
  const { log, store } = engine
  const { sql } = store
  const rule = repeatRule(engine)
  const resumed = await inFullBatches(BATCH, async () => {
    const batch = await inService(sql, async (tx) =>
      requeueIfExpired(tx, await findExpired(tx, rule, { isRepeatable: true, limit: BATCH })),
    )
    for (const { id } of batch) log.warn({ operation: id }, 'a lease expired; operation resumed')
    return batch.length
  })
  const parked = await parkAll(engine, rule)
  const requeued = await inService(sql, (tx) => requeueIfJobless(tx))
  for (const { id } of requeued) log.warn({ operation: id }, 'a job was lost; created a new one')
  const orphaned = await deadLetterOrphanedJobs(sql)
  if (orphaned > 0) log.warn({ orphaned }, 'jobs without an operation are dead letters now')
  const dropped = await deleteObsoleteDeadLetters(sql)
  return { resumed, parked, requeued: requeued.length, orphaned, dropped }
}

/** When a phase may be repeated without looking up its outcome. */
export interface RepeatRule {
  /** For how long each provider remembers an idempotency key. Any other provider remembers none. */
  readonly keyWindows: readonly { readonly provider: string; readonly seconds: number }[]
  /** From which no provider call is made. */
  readonly localPhases: readonly PhaseName[]
  /** The limit of claims: after more, the operation itself may crash its owners. */
  readonly attempts: number
}

function repeatRule(engine: Engine): RepeatRule {
  const { providers, settings } = engine
  return {
    keyWindows: providers.all.map(({ name, capabilities }) => ({
      provider: name,
      seconds: keyWindowSeconds(capabilities, settings),
    })),
    localPhases: phasesWith(engine, (call) => call === undefined),
    attempts: settings.JOB_RETRY_LIMIT + 1,
  }
}

/**
 * Finds operations whose lease expired, the oldest first, and whose current phase may, or may not, be
 * repeated. It may if it is local, or the provider still remembers the idempotency key of its call, and the
 * operation was not claimed too often.
 */
export async function findExpired(
  sql: Sql | Transaction,
  { keyWindows, localPhases, attempts }: RepeatRule,
  { isRepeatable, limit }: { isRepeatable: boolean; limit: number },
): Promise<OperationRef[]> {
  return await asService(sql)<OperationRef[]>`
    select tenant_id as "tenantId", id from idempotency_keys
    where status = 'processing' and lease_expires_at < now() and ${isRepeatable} = (
      attempts <= ${attempts} and (
        exists (
          select from payments
          join unnest(
            ${keyWindows.map(({ provider }) => provider)}::text[],
            ${keyWindows.map(({ seconds }) => seconds)}::float8[]
          ) as key_window (provider, seconds) on key_window.provider = payments.provider
          where payments.tenant_id = idempotency_keys.tenant_id
            and payments.id = idempotency_keys.payment_id
            and idempotency_keys.phase_began_at > now() - key_window.seconds * interval '1 second'
        )
        or ${isAtOneOf(sql, localPhases)}
      )
    )
    order by created_at
    limit ${limit}
  `
}

/**
 * Resumes operations whose lease expired, each with a new job. The call of an owner that went silent is in
 * doubt.
 */
export async function requeueIfExpired(
  tx: Transaction,
  refs: readonly OperationRef[],
): Promise<OperationRef[]> {
  const resumed = (await together(refs.map((ref) => resume(tx, ref)))).flat()
  await addOperationJobs(tx, resumed)
  return resumed
}

async function resume(tx: Transaction, { tenantId, id }: OperationRef): Promise<QueuedOperation[]> {
  return await tx<QueuedOperation[]>`
    update idempotency_keys set
      status = 'pending', lease_expires_at = null, in_doubt = true, job_id = ${randomUUID()},
      last_error = 'the lease ran out'
    where tenant_id = ${tenantId} and id = ${id}
      and status = 'processing' and lease_expires_at < now()
    returning ${queuedColumns(tx)}
  `
}

/**
 * Hands operations to the outcome resolver. One that cannot be parked must not block the others: it
 * is logged, and retried next time.
 */
async function parkAll(engine: Engine, rule: RepeatRule): Promise<number> {
  const { sql } = engine.store
  let parked = 0
  for (const ref of await findExpired(sql, rule, { isRepeatable: false, limit: BATCH })) {
    try {
      if (!(await park(engine, ref))) continue
      parked += 1
      engine.log.warn({ operation: ref.id }, 'a lease expired; the outcome is unknown')
    } catch (error) {
      if (isStoreUnavailable(error)) throw error
      engine.log.error({ err: error, operation: ref.id }, 'an operation could not be parked')
    }
  }
  return parked
}

async function park(engine: Engine, ref: OperationRef): Promise<boolean> {
  return await inTenant(engine.store.sql, ref.tenantId, async (tx) => {
    const row = await markUnknownIfExpired(tx, ref, engine.settings.CHECK_DELAYS_SECONDS)
    if (row === undefined) return false
    const operation = operationNamed(engine, row.operation)
    await operation.markUnknown({ tx, key: row.key }, operation.subject(row))
    return true
  })
}

/** Undefined when the operation was claimed meanwhile. */
export async function markUnknownIfExpired(
  tx: Transaction,
  ref: OperationRef,
  checkDelaysSeconds: readonly number[],
): Promise<OperationRow | undefined> {
  const unknownFor = await readUnknownFor(tx, ref)
  const { count } = await tx`
    update idempotency_keys set
      status = 'unknown', lease_expires_at = null, in_doubt = true,
      unknown_at = least(unknown_at, now()),
      next_check_at = ${nextCheckAt(tx, checkDelaysSeconds, unknownFor)},
      last_error = 'the lease ran out, too late or too often for the call to be made again'
    where tenant_id = ${ref.tenantId} and id = ${ref.id}
      and status = 'processing' and lease_expires_at < now()
  `
  return count === 0 ? undefined : await readOperation(tx, ref)
}

/**
 * Gives pending operations whose job is gone a new one.
 *
 * @param only one operation, instead of all of the oldest.
 */
export async function requeueIfJobless(
  tx: Transaction,
  only?: OperationRef,
): Promise<OperationRef[]> {
  const oldest = await tx<QueuedOperation[]>`
    select ${queuedColumns(tx)} from idempotency_keys
    where status = 'pending'
      ${only === undefined ? tx`` : tx`and tenant_id = ${only.tenantId} and id = ${only.id}`}
    order by created_at
    limit ${SCAN_LIMIT}
  `
  const queued = await findQueued(
    tx,
    oldest.map(({ jobId }) => jobId),
  )
  const jobless = oldest.filter(({ jobId }) => !queued.has(jobId))
  const requeued = (await together(jobless.map((operation) => requeue(tx, operation)))).flat()
  await addOperationJobs(tx, requeued)
  return requeued
}

async function requeue(
  tx: Transaction,
  { tenantId, id, jobId }: QueuedOperation,
): Promise<QueuedOperation[]> {
  return await tx<QueuedOperation[]>`
    update idempotency_keys set job_id = ${randomUUID()}
    where tenant_id = ${tenantId} and id = ${id} and status = 'pending'
      and job_id is not distinct from ${jobId}::uuid
    returning ${queuedColumns(tx)}
  `
}

/** Deletes dead letters of operations that have completed since. Returns their number. */
export async function deleteObsoleteDeadLetters(sql: Sql): Promise<number> {
  return await inService(sql, async (tx) => {
    const letters = await findJobs(tx, OPERATIONS_DEAD_LETTERS, 0)
    const obsolete = letters.filter(({ status }) => status === 'completed')
    if (obsolete.length === 0) return 0
    const { count } = await tx`
      delete from ${tx(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_DEAD_LETTERS} and id = any(${obsolete.map(({ id }) => id)}::uuid[])
    `
    return count
  })
}

/** With distributed tables, a job may be visible before its operation, for as long as a commit takes. */
const VISIBLE_AFTER_SECONDS = 60

/** Moves jobs whose operation does not exist to the dead letters. Returns their number. */
export async function deadLetterOrphanedJobs(sql: Sql): Promise<number> {
  return await inService(sql, async (tx) => {
    const waiting = await findJobs(tx, OPERATIONS_QUEUE, VISIBLE_AFTER_SECONDS)
    const orphans = waiting.filter(({ status }) => status === undefined)
    if (orphans.length === 0) return 0
    const orphaned = await tx<{ data: object }[]>`
      delete from ${tx(JOB_SCHEMA)}.job
      where name = ${OPERATIONS_QUEUE} and state < 'active'
        and id = any(${orphans.map(({ id }) => id)}::uuid[])
      returning data
    `
    const output = { reason: 'there is no such operation' }
    const letters = orphaned.map(({ data }) => ({ data, output }))
    await addJobs(tx, OPERATIONS_DEAD_LETTERS, letters)
    return orphaned.length
  })
}

interface OperationOfJob {
  readonly tenantId: string | null
  readonly operationId: string | null
}

/**
 * The waiting jobs of a queue that are this old, those that it runs next, with the statuses of their
 * operations: undefined for one that does not exist.
 */
async function findJobs(
  tx: Transaction,
  queue: string,
  seconds: number,
): Promise<{ readonly id: string; readonly status: string | undefined }[]> {
  const jobs = await tx<(OperationOfJob & { readonly id: string })[]>`
    select id, data ->> 'tenantId' as "tenantId", data ->> 'operationId' as "operationId"
    from ${tx(JOB_SCHEMA)}.job
    where name = ${queue} and state < 'active' and not blocked
      and created_on <= now() - ${seconds} * interval '1 second'
    order by priority desc, created_on
    limit ${SCAN_LIMIT}
  `
  if (jobs.length === 0) return []
  const named = jobs.filter(({ tenantId, operationId }) => isUuid(tenantId) && isUuid(operationId))
  const rows = await tx<(OperationOfJob & { readonly status: string })[]>`
    select tenant_id as "tenantId", id as "operationId", status from idempotency_keys
    where tenant_id = any(${named.map(({ tenantId }) => tenantId)}::uuid[])
      and id = any(${named.map(({ operationId }) => operationId)}::uuid[])
  `
  const statuses = new Map(rows.map((row) => [nameOf(row), row.status]))
  return jobs.map((job) => ({ id: job.id, status: statuses.get(nameOf(job)) }))
}

const nameOf = ({ tenantId, operationId }: OperationOfJob): string => `${tenantId} ${operationId}`

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const isUuid = (text: string | null): boolean => UUID.test(text ?? '')

/**
 * What was done. `check_asked`: the outcome is looked up now. `reopened`: the operation runs as on
 * its client's retry. `requeued`: it has a new job. `nothing`: it is completed, or a worker is
 * working on it.
 */
export type ResumeResult = 'check_asked' | 'reopened' | 'requeued' | 'nothing'

/**
 * Resumes an operation at once, at the request of an operator. It makes no provider call, and does
 * nothing that the service would not do later by itself.
 *
 * @throws StaleResourceError when its resource has changed since, so it is too late.
 */
export async function resumeOperation(
  tx: Transaction,
  parts: Pick<Engine, 'operations'>,
  ref: OperationRef,
): Promise<ResumeResult> {
  if (await requestCheckIfUnknown(tx, ref)) return 'check_asked'
  if (await reopenOperationIn(tx, parts, ref)) return 'reopened'
  // The worker that takes the job does not repeat a call that the provider may have forgotten, but
  // leaves it to the outcome resolver.
  const expired = await requeueIfExpired(tx, [ref])
  if (expired.length > 0) return 'requeued'
  const jobless = await requeueIfJobless(tx, ref)
  return jobless.length > 0 ? 'requeued' : 'nothing'
}
