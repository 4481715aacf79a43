// Reads and deletes tombstones: what an idempotency key created before it expired, for a late
// retry.
import type { Tombstone } from '../../domain/idempotency/tombstone.ts'
import type { Fragment, Sql, Transaction } from '../connection/client.ts'
import { seesEveryTenant, seesTenant } from '../connection/row-security.ts'

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

/** A tombstone as JSON, as in the column `earlier` of a key. */
export interface TombstoneRow {
  readonly payment_id: string | null
  readonly refund_id: string | null
  readonly location: string | null
  readonly expired_at: string
}

export function tombstoneFromRow(row: TombstoneRow): Tombstone {
  return {
    paymentId: row.payment_id,
    refundId: row.refund_id,
    location: row.location,
    expiredAt: new Date(row.expired_at),
  }
}

/** The hash of a key in its tombstone; `key` is an expression of type text. */
export const keyHash = (sql: Sql | Transaction, key: Fragment): Fragment =>
  sql`sha256(convert_to(${key}, 'UTF8'))`

/** A part of a statement: the tombstone of a key as JSON, or no row. */
export function selectTombstone(
  sql: Sql | Transaction,
  tenantId: Fragment,
  key: Fragment,
): Fragment {
  return sql`
    select jsonb_build_object(
      'payment_id', payment_id, 'refund_id', refund_id, 'location', location,
      'expired_at', expired_at
    ) as earlier
    from key_tombstones
    where key_tombstones.tenant_id = ${tenantId} and key_hash = ${keyHash(sql, key)}
  `
}

/** The tombstone of a key; undefined when the key was never used, or its tombstone is deleted. */
export async function findTombstone(
  sql: Sql | Transaction,
  tenantId: string,
  key: string,
): Promise<Tombstone | undefined> {
  const [row] = await sql<{ earlier: TombstoneRow }[]>`
    ${selectTombstone(sql, sql`${tenantId}`, sql`${key}::text`)}
    and ${seesTenant(sql, tenantId)}
  `
  return row && tombstoneFromRow(row.earlier)
}

/**
 * Deletes tombstones after their retention, the oldest first. Returns the number of deleted ones.
 */
export async function deleteOldTombstones(
  sql: Sql,
  { retentionSeconds, limit }: { retentionSeconds: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from key_tombstones where ${seesEveryTenant(sql)} and (tenant_id, key_hash) in (
      select tenant_id, key_hash from key_tombstones
      where buried_at < now() - ${retentionSeconds} * interval '1 second'
      order by buried_at
      limit ${limit}
    )
    and buried_at < now() - ${retentionSeconds} * interval '1 second'
  `
  return count
}
