// The table `key_tombstones`: what remains of a deleted idempotency key. One small row names the
// resource that the key created, so that a late retry learns of it and never charges silently. The
// row is written before the key is deleted.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { bytea, timestamptz, seenByItsTenant } from './columns.ts'
import { ofTenant } from './tenants.ts'

export const keyTombstones = pgTable(
  'key_tombstones',
  (t) => ({
    tenantId: ofTenant(),
    /** SHA-256 of the key: 32 bytes for a key of any length. */
    keyHash: bytea('key_hash').notNull(),
    paymentId: t.uuid('payment_id'),
    refundId: t.uuid('refund_id'),
    /** The path of the resource of a local operation, which has no payment. */
    location: t.text('location'),
    expiredAt: timestamptz('expired_at').notNull(),
    buriedAt: timestamptz('buried_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.keyHash] }),
    index('key_tombstones_oldest').on(table.buriedAt),
    check('key_tombstones_hash', sql`length(key_hash) = 32`),
    seenByItsTenant(),
  ],
)
