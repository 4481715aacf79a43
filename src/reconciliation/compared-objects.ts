// Records which objects of the provider a run has compared, and which it has reported, until it ends.
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import { asService } from '../db/connection/transaction.ts'
import type { MovementKind } from '../domain/ledger/ledger.ts'
import { explainingKinds } from '../domain/operations/finding.ts'
import type { Run } from './runs.ts'

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
 * Whether a run has compared an object. The table is filled and emptied faster than its statistics
 * are updated, so the planner assumes that it is empty. The offset makes it use the index instead of
 * a full scan.
 */
export const isCompared = (
  sql: Sql | Transaction,
  runId: string,
  object: Fragment,
): Fragment => sql`
  exists (
    select from reconciliation_seen as seen
    where seen.run_id = ${runId} and seen.object_id = ${object}
    offset 0
  )
`

/** The objects that a run has not compared. */
export async function notComparedAmong(
  sql: Sql,
  runId: string,
  objectIds: readonly string[],
): Promise<string[]> {
  const rows = await sql<{ object_id: string }[]>`
    select distinct object_id from unnest(${[...objectIds]}::text[]) as object (object_id)
    where not ${isCompared(sql, runId, sql`object.object_id`)}
  `
  return rows.map((row) => row.object_id)
}

/**
 * The objects that have an open finding, or that the run itself has reported. A finding that a
 * person closed earlier does not explain today's difference.
 */
export async function findReported(
  sql: Sql | Transaction,
  { id, provider }: Pick<Run, 'id' | 'provider'>,
  objectIds: readonly string[],
): Promise<Set<string>> {
  if (objectIds.length === 0) return new Set()
  const ids = [...objectIds]
  const rows = await asService(sql)<{ object_id: string }[]>`
    select object_id from reconciliation_findings
    where provider = ${provider} and object_id = any(${ids}::text[])
      and kind = any(${explainingKinds}::text[]) and status = 'open'
    union
    select object_id from unnest(${ids}::text[]) as object (object_id)
    where ${isCompared(sql, id, sql`${seenReport('')} || object.object_id`)}
  `
  return new Set(rows.map((row) => row.object_id))
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
