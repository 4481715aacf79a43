// Webhook endpoints: where tenants want to be told of events.
import { sql } from 'drizzle-orm'
import {
  check,
  index,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import {
  disabledReasons,
  ENDPOINTS_MAX,
  endpointStatuses,
} from '../../domain/webhooks/webhook-endpoint.ts'
import { moment, oneOf, seenByItsTenant } from './columns.ts'
import { tenants } from './tenants.ts'

/**
 * The receivers of a tenant's events. A secret is stored as it is, because signing needs it; no
 * statement but those that make it and those that sign with it reads the column.
 */
export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    id: uuid('id').notNull(),
    /** One of the places that a tenant has for endpoints; a deleted one has given its place back. */
    slot: smallint('slot'),
    url: text('url').notNull(),
    description: text('description'),
    /** Of the events, or `*` for every one. */
    eventTypes: text('event_types').array().notNull(),
    secret: text('secret'),
    /** The secret before the last rotation, which signs as well until it expires. */
    previousSecret: text('previous_secret'),
    previousSecretExpiresAt: moment('previous_secret_expires_at'),
    status: text('status', { enum: endpointStatuses }).notNull().default('enabled'),
    disabledReason: text('disabled_reason', { enum: disabledReasons }),
    /** The first failed attempt since the last success. */
    failingSince: moment('failing_since'),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // Read by every statement that writes an event: a tenant without endpoints costs one look here.
    index('webhook_endpoints_enabled')
      .on(table.tenantId)
      .where(sql`status = 'enabled'`),
    check('webhook_endpoints_status', sql`status in (${oneOf(endpointStatuses)})`),
    check('webhook_endpoints_event_types', sql`cardinality(event_types) > 0`),
    // Never more endpoints than places, however many are made at once.
    unique('webhook_endpoints_one_per_slot').on(table.tenantId, table.slot),
    check(
      'webhook_endpoints_slot',
      sql`(status = 'deleted') = (slot is null)
        and slot between 1 and ${sql.raw(String(ENDPOINTS_MAX))}`,
    ),
    // What is deleted has no secret left, and whatever may be signed for has one.
    check('webhook_endpoints_secret', sql`(status = 'deleted') = (secret is null)`),
    check(
      'webhook_endpoints_previous_secret',
      sql`(previous_secret is null) = (previous_secret_expires_at is null)
        and (previous_secret is null or secret is not null)`,
    ),
    check(
      'webhook_endpoints_disabled',
      sql`(status = 'disabled') = (disabled_reason is not null)
        and disabled_reason in (${oneOf(disabledReasons)})`,
    ),
    seenByItsTenant(),
  ],
)
