// The tables of events, of the webhooks that deliver them, and of what the provider tells.
import { sql } from 'drizzle-orm'
import { check, index, integer, pgTable, primaryKey, text, unique } from 'drizzle-orm/pg-core'
import { providerEventStatuses, providerEventSubjects } from '../../domain/events/provider-event.ts'
import { attemptErrors, deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import {
  disabledReasons,
  ENDPOINTS_MAX,
  endpointStatuses,
} from '../../domain/webhooks/webhook-endpoint.ts'
import {
  keyedByTenant,
  oneOf,
  refersTo,
  seenByItsTenant,
  tenantAndId,
  textOf,
  timestamptz,
} from './columns.ts'
import { payments } from './payments.ts'
import { ofTenant } from './tenants.ts'

/** The URLs that receive a tenant's events. Only what writes a secret and what signs with it reads it. */
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
    status: textOf('status', endpointStatuses).notNull().default('enabled'),
    disabledReason: textOf('disabled_reason', disabledReasons),
    /** The first failed attempt since the last success. */
    failingSince: timestamptz('failing_since'),
    /** The failures since the last success that the circuit breaker has counted. */
    consecutiveFailures: t.integer('consecutive_failures').notNull().default(0),
    /** Until then no attempt is made; null while the circuit is closed. */
    pausedUntil: timestamptz('paused_until'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [
    ...keyedByTenant(table),
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
  ],
)

/**
 * One row for each change of the status of a payment or a refund, of a dispute, and of a webhook endpoint.
 * Clients list events, and receive them by webhook.
 */
export const events = pgTable(
  'events',
  (t) => ({
    ...tenantAndId,
    type: t.text('type').notNull(),
    /** Null for an event of a webhook endpoint. */
    paymentId: t.uuid('payment_id'),
    refundId: t.uuid('refund_id'),
    disputeId: t.uuid('dispute_id'),
    endpointId: t.uuid('endpoint_id'),
    /** The row of the payment, refund or dispute right after the change; some columns of an endpoint. */
    object: t.jsonb('object').$type<Record<string, unknown>>().notNull(),
    idempotencyKey: t.text('idempotency_key'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [
    ...keyedByTenant(table),
    refersTo('events_payment', [table.tenantId, table.paymentId], payments),
    refersTo('events_endpoint', [table.tenantId, table.endpointId], webhookEndpoints),
    check('events_resource_named', sql`(payment_id is null) = (endpoint_id is not null)`),
    index('events_by_payment').on(table.tenantId, table.paymentId, table.id),
  ],
)

/**
 * One row for each event and each endpoint that subscribed to its type when it happened. The
 * transaction that inserts the event also inserts its deliveries and their first jobs.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  (t) => ({
    ...tenantAndId,
    eventId: t.uuid('event_id').notNull(),
    endpointId: t.uuid('endpoint_id').notNull(),
    status: textOf('status', deliveryStatuses).notNull().default('pending'),
    /**
     * The number of attempts made. A job names the attempt that it makes, so that no attempt is
     * recorded twice.
     */
    attempts: t.integer('attempts').notNull().default(0),
    /** The number of pauses of the retry schedule that have passed. A redelivery resets it. */
    scheduleStep: t.integer('schedule_step').notNull().default(0),
    nextAttemptAt: timestamptz('next_attempt_at'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [
    ...keyedByTenant(table),
    unique('webhook_deliveries_once').on(table.tenantId, table.eventId, table.endpointId),
    // For the lists of all tenants.
    index('webhook_deliveries_by_id').on(table.id),
    index('webhook_deliveries_by_endpoint').on(table.tenantId, table.endpointId, table.id),
    refersTo('webhook_deliveries_event', [table.tenantId, table.eventId], events),
    refersTo('webhook_deliveries_endpoint', [table.tenantId, table.endpointId], webhookEndpoints),
    check('webhook_deliveries_status', sql`status in (${oneOf(deliveryStatuses)})`),
    // A next attempt is planned exactly while the delivery is pending.
    check('webhook_deliveries_next', sql`(status = 'pending') = (next_attempt_at is not null)`),
    check('webhook_deliveries_counts', sql`attempts >= 0 and schedule_step >= 0`),
  ],
)

/** One row for each attempt that ended. Append-only; bodies are not stored. */
export const webhookAttempts = pgTable(
  'webhook_attempts',
  (t) => ({
    ...tenantAndId,
    deliveryId: t.uuid('delivery_id').notNull(),
    number: t.integer('number').notNull(),
    startedAt: timestamptz('started_at').notNull(),
    latencyMs: t.integer('latency_ms').notNull(),
    httpStatus: t.smallint('http_status'),
    error: textOf('error', attemptErrors),
  }),
  (table) => [
    ...keyedByTenant(table),
    // Two workers may make the same attempt when the job of the first expired too early. One
    // records it.
    unique('webhook_attempts_once').on(table.tenantId, table.deliveryId, table.number),
    refersTo('webhook_attempts_delivery', [table.tenantId, table.deliveryId], webhookDeliveries),
    check('webhook_attempts_number', sql`number >= 1 and latency_ms >= 0`),
    // An attempt has an HTTP status, or the error that prevented one.
    check('webhook_attempts_answer', sql`(http_status is null) = (error is not null)`),
    check('webhook_attempts_http_status', sql`http_status between 100 and 999`),
    check('webhook_attempts_error', sql`error in (${oneOf(attemptErrors)})`),
  ],
)

/**
 * The inbox of the provider's webhook events. Each event is stored once, before it is acknowledged, however
 * often the provider sends it. The row keeps only ids and names of the payload.
 *
 * Event ids are unique across tenants, so the tenant is not part of the primary key. Tenant and
 * payment come from the event's metadata, which may be wrong, so no foreign key covers them.
 */
export const providerEvents = pgTable(
  'provider_events',
  (t) => ({
    provider: t.text('provider').notNull(),
    id: t.text('id').notNull(),
    type: t.text('type').notNull(),
    about: textOf('about', providerEventSubjects).notNull().default('payment'),
    objectId: t.text('object_id').notNull(),
    providerPaymentId: t.text('provider_payment_id'),
    tenantId: t.uuid('tenant_id'),
    paymentId: t.uuid('payment_id'),
    status: textOf('status', providerEventStatuses).notNull().default('pending'),
    /** By the provider's clock. */
    occurredAt: timestamptz('occurred_at').notNull(),
    receivedAt: timestamptz('received_at').notNull().defaultNow(),
    settledAt: timestamptz('settled_at'),
  }),
  (table) => [
    // This constraint, not a lookup before the insert, deduplicates events.
    primaryKey({ columns: [table.provider, table.id] }),
    // Events that a reconciliation still has to look at. The table keeps all other events too.
    index('provider_events_open')
      .on(table.receivedAt)
      .where(sql`status in ('pending', 'unmatched')`),
    // Events to delete after their retention; see src/recovery/prune.ts.
    index('provider_events_settled')
      .on(table.settledAt)
      .where(sql`settled_at is not null and type <> 'warning'`),
    // Finds the provider's ids of a payment when the answer to our own call was lost.
    index('provider_events_by_payment')
      .on(table.tenantId, table.paymentId)
      .where(sql`payment_id is not null`),
    check('provider_events_status', sql`status in (${oneOf(providerEventStatuses)})`),
    check('provider_events_about', sql`about in (${oneOf(providerEventSubjects)})`),
    check('provider_events_settled', sql`(status = 'pending') = (settled_at is null)`),
    // An event that names a payment also names its tenant.
    check('provider_events_subject', sql`(tenant_id is null) = (payment_id is null)`),
    seenByItsTenant(),
  ],
)

/**
 * The account of each provider in which the payments of this database were made, from the first call
 * on; and when a clock of ours was last seen apart from the provider's, with the greatest difference.
 */
export const providerAccounts = pgTable('provider_accounts', {
  provider: text('provider').primaryKey(),
  account: text('account').notNull(),
  firstUsedAt: timestamptz('first_used_at').notNull().defaultNow(),
  clocksApartAt: timestamptz('clocks_apart_at'),
  clocksApartSeconds: integer('clocks_apart_seconds'),
})
