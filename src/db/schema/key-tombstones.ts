// Tombstones: what is left of the idempotency keys that were deleted.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { bytea, moment, seenByItsTenant } from './columns.ts'
import { tenants } from './tenants.ts'

/**
 * One small row for each key that was forgotten: what it had made, so that a late retry is told and
 * never charges in silence. It is there before the key is deleted.
 */
export const keyTombstones = pgTable(
  'key_tombstones',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    /** SHA-256 of the key: 32 bytes, however long the key was. */
    keyHash: bytea('key_hash').notNull(),
    paymentId: uuid('payment_id'),
    refundId: uuid('refund_id'),
    /** Where the resource of a local operation is; those have no payment. */
    location: text('location'),
    expiredAt: moment('expired_at').notNull(),
    buriedAt: moment('buried_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.keyHash] }),
    index('key_tombstones_oldest').on(table.buriedAt),
    check('key_tombstones_hash', sql`length(key_hash) = 32`),
    seenByItsTenant(),
  ],
)
