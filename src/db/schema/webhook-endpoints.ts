// The table `webhook_endpoints`: the URLs that receive a tenant's events. The signing secret is
// stored in plain text, because signing needs it. Only the statements that write it and those that
// sign with it use the column.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, unique } from 'drizzle-orm/pg-core'
import {
  disabledReasons,
  ENDPOINTS_MAX,
  endpointStatuses,
} from '../../domain/webhooks/webhook-endpoint.ts'
import { timestamptz, oneOf, seenByItsTenant } from './columns.ts'
import { ofTenant } from './tenants.ts'

export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  (t) => ({
    tenantId: ofTenant(),
    id: t.uuid('id').notNull(),
    /** One of the numbered slots of the tenant. A deleted endpoint has released its slot. */
    slot: t.smallint('slot'),
    url: t.text('url').notNull(),
    description: t.text('description'),
    /** The subscribed event types; `*` means all. */
    eventTypes: t.text('event_types').array().notNull(),
    secret: t.text('secret'),
    /**
     * The secrets before the last rotations, newest first. Until they expire, deliveries are signed
     * with them too.
     */
    previousSecret: t.text('previous_secret'),
    previousSecretExpiresAt: timestamptz('previous_secret_expires_at'),
    secondPreviousSecret: t.text('second_previous_secret'),
    secondPreviousSecretExpiresAt: timestamptz('second_previous_secret_expires_at'),
    thirdPreviousSecret: t.text('third_previous_secret'),
    thirdPreviousSecretExpiresAt: timestamptz('third_previous_secret_expires_at'),
    status: t.text('status', { enum: endpointStatuses }).notNull().default('enabled'),
    disabledReason: t.text('disabled_reason', { enum: disabledReasons }),
    /** The first failed attempt since the last success. */
    failingSince: timestamptz('failing_since'),
    /** The failures since the last success that the circuit breaker has counted. */
    consecutiveFailures: t.integer('consecutive_failures').notNull().default(0),
    /** Until then no attempt is made; null while the circuit is closed. */
    pausedUntil: timestamptz('paused_until'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // For the lists of all tenants.
    index('webhook_endpoints_by_id').on(table.id),
    // Every transaction that writes an event reads this index: one lookup for a tenant without
    // endpoints.
    index('webhook_endpoints_enabled')
      .on(table.tenantId)
      .where(sql`status = 'enabled'`),
    // For the figures of those that get no webhooks now.
    index('webhook_endpoints_stopped')
      .on(table.tenantId)
      .where(sql`status = 'disabled' or (status = 'enabled' and paused_until is not null)`),
    check('webhook_endpoints_status', sql`status in (${oneOf(endpointStatuses)})`),
    check('webhook_endpoints_event_types', sql`cardinality(event_types) > 0`),
    // Limits the endpoints of a tenant to its slots, even when requests race.
    unique('webhook_endpoints_one_per_slot').on(table.tenantId, table.slot),
    check(
      'webhook_endpoints_slot',
      sql`(status = 'deleted') = (slot is null)
        and slot between 1 and ${sql.raw(String(ENDPOINTS_MAX))}`,
    ),
    // Exactly the deleted endpoints have no secret.
    check('webhook_endpoints_secret', sql`(status = 'deleted') = (secret is null)`),
    check(
      'webhook_endpoints_previous_secret',
      sql`(previous_secret is null) = (previous_secret_expires_at is null)
        and (previous_secret is null or secret is not null)`,
    ),
    check(
      'webhook_endpoints_earlier_secrets',
      sql`(second_previous_secret is null) = (second_previous_secret_expires_at is null)
        and (third_previous_secret is null) = (third_previous_secret_expires_at is null)
        and (second_previous_secret is null and third_previous_secret is null or secret is not null)`,
    ),
    check(
      'webhook_endpoints_disabled',
      sql`(status = 'disabled') = (disabled_reason is not null)
        and disabled_reason in (${oneOf(disabledReasons)})`,
    ),
    seenByItsTenant(),
  ],
)
