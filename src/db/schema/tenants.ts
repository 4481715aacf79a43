// The tables `tenants`, `api_keys` and `provider_customers`: merchants, the API keys that
// authenticate them, and the customers of the provider that they may charge. The primary key of
// every table of tenants begins with tenant_id, as every foreign key does, so that no row can refer
// to another tenant's row.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, unique, uuid } from 'drizzle-orm/pg-core'
import type { Route } from '../../domain/payments/routing.ts'
import { bytea, keyedByTenant, minor, seenByItsTenant, timestamptz } from './columns.ts'

/** The merchants. */
export const tenants = pgTable(
  'tenants',
  (t) => ({
    id: t.uuid('id').primaryKey(),
    name: t.text('name').notNull(),
    /** The fee for each capture: basis points of the amount, plus a fixed amount in minor units. */
    feeBasisPoints: t.integer('fee_basis_points').notNull().default(0),
    feeFixedMinor: minor('fee_fixed_minor').notNull().default(0),
    /** Limits of its own, instead of the settings of the same name; 0 for no limit. */
    rateLimitWrites: t.integer('rate_limit_writes'),
    rateLimitReads: t.integer('rate_limit_reads'),
    maxActiveKeys: t.integer('max_active_keys'),
    maxStoredKeys: t.integer('max_stored_keys'),
    keyLengthMin: t.integer('key_length_min'),
    /** Whether every payment and refund must have a reference. */
    requiresReference: t.boolean('requires_reference').notNull().default(false),
    /** Its providers in their order, with their currencies; null: the provider of the service. */
    providers: t.jsonb('providers').$type<readonly Route[]>(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** When the tenant was disabled. Its API keys are refused; accepted operations go on. */
    disabledAt: timestamptz('disabled_at'),
  }),
  () => [
    check('tenants_fee', sql`fee_basis_points between 0 and 10000 and fee_fixed_minor >= 0`),
    check(
      'tenants_providers',
      sql`jsonb_typeof(providers) = 'array' and jsonb_array_length(providers) > 0`,
    ),
    check(
      'tenants_limits',
      sql`least(
        rate_limit_writes, rate_limit_reads, max_active_keys, max_stored_keys, key_length_min
      ) >= 0`,
    ),
    seenByItsTenant('id'),
  ],
)

/** The column of a table that refers to the tenant itself. */
export const ofTenant = () =>
  uuid('tenant_id')
    .notNull()
    .references(() => tenants.id)

/**
 * API keys, as hashes. Authentication finds a key by its public prefix, before the tenant is known.
 * Two keys may share a prefix by chance.
 */
export const apiKeys = pgTable(
  'api_keys',
  (t) => ({
    tenantId: ofTenant(),
    id: t.uuid('id').notNull(),
    prefix: t.text('prefix').notNull(),
    secretHash: bytea('secret_hash').notNull(),
    /** What the API key allows; `*` allows everything, including scopes of later versions. */
    scopes: t.text('scopes').array().notNull().default(['*']),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** When a rotated key stops working. */
    expiresAt: timestamptz('expires_at'),
    revokedAt: timestamptz('revoked_at'),
  }),
  (table) => [
    ...keyedByTenant(table),
    index('api_keys_by_prefix').on(table.prefix),
    // One secret authenticates one tenant.
    unique('api_keys_secret_once').on(table.secretHash),
    // Operators refer to an API key without its tenant.
    unique('api_keys_id_once').on(table.id),
    check('api_keys_scopes', sql`cardinality(scopes) > 0`),
  ],
)

/**
 * Which tenant may charge which customer of the provider. The ids are the provider's, and all tenants
 * share its account, so that only this table tells them apart.
 */
export const providerCustomers = pgTable(
  'provider_customers',
  (t) => ({
    tenantId: ofTenant(),
    provider: t.text('provider').notNull(),
    /** The provider's id of the customer. */
    id: t.text('id').notNull(),
    /** When the customer was given to this tenant. */
    assignedAt: timestamptz('assigned_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.provider, table.id] }),
    // A customer belongs to one tenant.
    unique('provider_customers_once').on(table.provider, table.id),
    seenByItsTenant(),
  ],
)
