// Counts the requests that used an idempotency key again, for operators. The counts are added in
// batches, and are deleted with their key.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql } from '../connection/client.ts'
import { seesTenant } from '../connection/row-security.ts'
import { inService } from '../connection/transaction.ts'

/** What a request got that used a key again: the stored response, a 409 or a 422. */
export type KeyReuse = 'replays' | 'conflicts' | 'mismatches'

export interface ReplayCount extends OperationRef, Readonly<Record<KeyReuse, number>> {
  readonly firstAt: Date
  readonly lastAt: Date
}

/**
 * Adds to the counts of keys, once per key; one that is deleted meanwhile is skipped. Several
 * processes do not deadlock, because they change the rows in one order. In a transaction it has a
 * connection of its own, so that no other statement waits for it.
 */
export async function addReplays(sql: Sql, counts: readonly ReplayCount[]): Promise<void> {
  const added = counts.map(({ tenantId, id, firstAt, lastAt, ...numbers }) => ({
    tenant_id: tenantId,
    operation_id: id,
    ...numbers,
    first_at: firstAt,
    last_at: lastAt,
  }))
  await inService(sql, async (tx) => {
    await tx`
      insert into key_replays (
        tenant_id, operation_id, replays, conflicts, mismatches, first_at, last_at
      )
      select added.* from jsonb_to_recordset(${JSON.stringify(added)}::jsonb) as added (
        tenant_id uuid, operation_id uuid, replays bigint, conflicts bigint, mismatches bigint,
        first_at timestamptz, last_at timestamptz
      )
      join idempotency_keys as stored
        on stored.tenant_id = added.tenant_id and stored.id = added.operation_id
      order by added.tenant_id, added.operation_id
      on conflict (tenant_id, operation_id) do update set
        replays = key_replays.replays + excluded.replays,
        conflicts = key_replays.conflicts + excluded.conflicts,
        mismatches = key_replays.mismatches + excluded.mismatches,
        first_at = least(key_replays.first_at, excluded.first_at),
        last_at = greatest(key_replays.last_at, excluded.last_at)
    `
  })
}

interface CountRow extends Record<KeyReuse, string> {
  readonly operation_id: string
  readonly first_at: string
  readonly last_at: string
}

/** The counts of the operations of a tenant that have one. */
export async function listReplays(
  sql: Sql,
  tenantId: string,
  operationIds: readonly string[],
): Promise<ReplayCount[]> {
  const rows = await sql<CountRow[]>`
    select operation_id, replays, conflicts, mismatches, first_at, last_at from key_replays
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId}
      and operation_id = any(${[...operationIds]}::uuid[])
  `
  return rows.map((row) => ({
    tenantId,
    id: row.operation_id,
    replays: Number(row.replays),
    conflicts: Number(row.conflicts),
    mismatches: Number(row.mismatches),
    firstAt: new Date(row.first_at),
    lastAt: new Date(row.last_at),
  }))
}
