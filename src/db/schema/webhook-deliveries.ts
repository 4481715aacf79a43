// Webhook deliveries: which event is on its way to which endpoint.
import { sql } from 'drizzle-orm'
import {
  check,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { deliveryStatuses } from '../../domain/webhooks/webhook-delivery.ts'
import { moment, oneOf, seenByItsTenant } from './columns.ts'
import { events } from './events.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'

/**
 * One row for each event and each endpoint that wanted its type when it happened. Written by the
 * statement that writes the event, together with its first job.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    eventId: uuid('event_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    status: text('status', { enum: deliveryStatuses }).notNull().default('pending'),
    /** How many were made; a job names the one that it makes, so that none is recorded twice. */
    attempts: integer('attempts').notNull().default(0),
    /** How many pauses of the retry schedule have passed; a redelivery begins it anew. */
    scheduleStep: integer('schedule_step').notNull().default(0),
    nextAttemptAt: moment('next_attempt_at'),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    unique('webhook_deliveries_once').on(table.tenantId, table.eventId, table.endpointId),
    index('webhook_deliveries_by_endpoint').on(table.tenantId, table.endpointId, table.id),
    foreignKey({
      name: 'webhook_deliveries_event',
      columns: [table.tenantId, table.eventId],
      foreignColumns: [events.tenantId, events.id],
    }),
    foreignKey({
      name: 'webhook_deliveries_endpoint',
      columns: [table.tenantId, table.endpointId],
      foreignColumns: [webhookEndpoints.tenantId, webhookEndpoints.id],
    }),
    check('webhook_deliveries_status', sql`status in (${oneOf(deliveryStatuses)})`),
    // A next attempt is planned exactly while there is one to come.
    check('webhook_deliveries_next', sql`(status = 'pending') = (next_attempt_at is not null)`),
    check('webhook_deliveries_counts', sql`attempts >= 0 and schedule_step >= 0`),
    seenByItsTenant(),
  ],
)
