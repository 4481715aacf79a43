// Reads tombstones: what an idempotency key created before it expired, for a late
// retry.
import { hash } from 'node:crypto'
import type { Tombstone } from '../../domain/idempotency/idempotency-key.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { asBytea, objectOf } from '../connection/rows.ts'
import { asTenant } from '../connection/transaction.ts'
import type { TombstoneRow } from '../schema/idempotency-keys.ts'

/** What a retry with an expired key gets: a new operation, or an error. */
export type ExpiredKeys = 'new' | 'gone'

/** The key has expired, and the configuration forbids a new operation under it. */
export class KeyExpiredError extends Error {
  override name = 'KeyExpiredError'
  readonly earlier: Tombstone

  constructor(earlier: Tombstone) {
    super('the idempotency key was used before and has expired')
    this.earlier = earlier
  }
}

/** A request that says when it was first sent may be a retry of one whose key was deleted. */
export class FirstSentRefusedError extends Error {
  override name = 'FirstSentRefusedError'
}

export const tombstoneFromRow = (row: TombstoneRow): Tombstone => objectOf(row)

/** The tombstone of a key; undefined when the key was never used, or its tombstone is deleted. */
export async function findTombstone(
  sql: Sql,
  tenantId: string,
  key: string,
): Promise<Tombstone | undefined> {
  const [row] = await findTombstones(sql, tenantId, [{ key }])
  return row && tombstoneFromRow(row)
}

type FoundTombstone = TombstoneRow & { readonly key: string }

/** The tombstones of keys of a tenant. */
export async function findTombstones(
  sql: Sql | Transaction,
  tenantId: string,
  names: readonly { readonly key: string }[],
): Promise<FoundTombstone[]> {
  const keyOf = new Map(names.map(({ key }) => [asBytea(hash('sha256', key, 'buffer')), key]))
  type Row = Omit<FoundTombstone, 'key'> & { readonly key_hash: Buffer }
  const rows = await asTenant(sql, tenantId)<Row[]>`
    select key_hash, payment_id, refund_id, location, expired_at from key_tombstones
    where tenant_id = ${tenantId} and key_hash = any(${[...keyOf.keys()]}::bytea[])
  `
  return rows.map(({ key_hash: hashed, ...row }) => ({
    ...row,
    key: keyOf.get(asBytea(hashed)) ?? '',
  }))
}
