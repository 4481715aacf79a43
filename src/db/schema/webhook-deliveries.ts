// The tables `webhook_deliveries` and `webhook_attempts`: the delivery of each event to each
// endpoint, and the attempts at it.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, unique } from 'drizzle-orm/pg-core'
import { timestamptz, oneOf, seenByItsTenant, refersTo } from './columns.ts'
import { attemptErrors, deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import { events } from './events.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'

/**
 * One row for each event and each endpoint that subscribed to its type when it happened. The
 * transaction that inserts the event also inserts its deliveries and their first jobs.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
    eventId: t.uuid('event_id').notNull(),
    endpointId: t.uuid('endpoint_id').notNull(),
    status: t.text('status', { enum: deliveryStatuses }).notNull().default('pending'),
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
    primaryKey({ columns: [table.tenantId, table.id] }),
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
    seenByItsTenant(),
  ],
)

/** One row for each attempt that ended. Append-only; bodies are not stored. */
export const webhookAttempts = pgTable(
  'webhook_attempts',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
    deliveryId: t.uuid('delivery_id').notNull(),
    number: t.integer('number').notNull(),
    startedAt: timestamptz('started_at').notNull(),
    latencyMs: t.integer('latency_ms').notNull(),
    httpStatus: t.smallint('http_status'),
    error: t.text('error', { enum: attemptErrors }),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // Two workers may make the same attempt when the job of the first expired too early. One
    // records it.
    unique('webhook_attempts_once').on(table.tenantId, table.deliveryId, table.number),
    refersTo('webhook_attempts_delivery', [table.tenantId, table.deliveryId], webhookDeliveries),
    check('webhook_attempts_number', sql`number >= 1 and latency_ms >= 0`),
    // An attempt has an HTTP status, or the error that prevented one.
    check('webhook_attempts_answer', sql`(http_status is null) = (error is not null)`),
    check('webhook_attempts_http_status', sql`http_status between 100 and 999`),
    check('webhook_attempts_error', sql`error in (${oneOf(attemptErrors)})`),
    seenByItsTenant(),
  ],
)
