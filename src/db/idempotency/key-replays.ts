// Counts the requests that used an idempotency key again, for operators. The counts are added in
// batches, and are deleted with their key.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { forEachTenant, objectOf, rowsOf, type RowOf } from '../connection/rows.ts'
import { asTenant, inTenants } from '../connection/transaction.ts'
import type { keyReplays } from '../schema/idempotency-keys.ts'

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
  await inTenants(sql, counts, (tx) =>
    forEachTenant(counts, (tenantId, own) => addReplaysOf(tx, tenantId, own)),
  )
}

async function addReplaysOf(
  tx: Transaction,
  tenantId: string,
  counts: readonly ReplayCount[],
): Promise<void> {
  const stored = await tx<{ id: string }[]>`
    select id from idempotency_keys
    where tenant_id = ${tenantId} and id = any(${counts.map(({ id }) => id)}::uuid[])
    for key share
  `
  const ids = new Set(stored.map(({ id }) => id))
  const rows = counts
    .filter(({ id }) => ids.has(id))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id: operationId, replays, conflicts, mismatches, firstAt, lastAt }) => {
      const numbers = { replays, conflicts, mismatches, firstAt, lastAt }
      return { tenantId, operationId, ...numbers }
    })
  if (rows.length === 0) return
  await tx`
    insert into key_replays ${rowsOf(tx, rows)}
    on conflict (tenant_id, operation_id) do update set
      replays = key_replays.replays + excluded.replays,
      conflicts = key_replays.conflicts + excluded.conflicts,
      mismatches = key_replays.mismatches + excluded.mismatches,
      first_at = least(key_replays.first_at, excluded.first_at),
      last_at = greatest(key_replays.last_at, excluded.last_at)
  `
}

/** The counts of the operations of a tenant that have one. */
export async function listReplays(
  sql: Sql,
  tenantId: string,
  operationIds: readonly string[],
): Promise<ReplayCount[]> {
  type Row = Omit<RowOf<typeof keyReplays>, 'operation_id'> & { readonly id: string }
  const rows = await asTenant(sql, tenantId)<Row[]>`
    select tenant_id, operation_id as id, replays, conflicts, mismatches, first_at, last_at
    from key_replays
    where tenant_id = ${tenantId} and operation_id = any(${[...operationIds]}::uuid[])
  `
  return rows.map(objectOf)
}
