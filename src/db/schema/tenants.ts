// Tenants, and the secrets that name them. Every table below a tenant has (tenant_id, id) as its key and
// tenant_id in every foreign key, so that no row can point at another tenant's.
import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core'
import { bytea, minor, moment, seenByItsTenant } from './columns.ts'

/** Merchants. Everything below belongs to exactly one of them. */
export const tenants = pgTable(
  'tenants',
  {
    id: uuid('id').primaryKey(),
    name: text('name').notNull(),
    /** The fee for each capture: hundredths of a percent of it, and an amount in minor units. */
    feeBasisPoints: integer('fee_basis_points').notNull().default(0),
    feeFixedMinor: minor('fee_fixed_minor').notNull().default(0),
    createdAt: moment('created_at').notNull().defaultNow(),
    /** Since when none of its keys works; what was accepted before goes on. */
    disabledAt: moment('disabled_at'),
  },
  () => [
    check('tenants_fee', sql`fee_basis_points between 0 and 10000 and fee_fixed_minor >= 0`),
    seenByItsTenant('id'),
  ],
)

/**
 * The secrets that name a tenant, hashed. The public prefix is how a request's key is found before
 * its tenant is known; it is not unique, so that two keys may share one by chance.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    id: uuid('id').notNull(),
    prefix: text('prefix').notNull(),
    secretHash: bytea('secret_hash').notNull(),
    /** What the key may be used for; `*` stands for everything, that of later versions included. */
    scopes: text('scopes').array().notNull().default(['*']),
    createdAt: moment('created_at').notNull().defaultNow(),
    /** When a rotated key stops working. */
    expiresAt: moment('expires_at'),
    revokedAt: moment('revoked_at'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('api_keys_by_prefix').on(table.prefix),
    // One secret names one tenant.
    unique('api_keys_secret_once').on(table.secretHash),
    // Operators name a key without its tenant.
    unique('api_keys_id_once').on(table.id),
    check('api_keys_scopes', sql`cardinality(scopes) > 0`),
    seenByItsTenant(),
  ],
)
