// The table `events`: one row for each change of the status of a payment or a refund, of a dispute,
// and of a webhook endpoint. Clients list events, and receive them by webhook.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { timestamptz, refersTo, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'

export const events = pgTable(
  'events',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
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
    primaryKey({ columns: [table.tenantId, table.id] }),
    refersTo('events_payment', [table.tenantId, table.paymentId], payments),
    refersTo('events_endpoint', [table.tenantId, table.endpointId], webhookEndpoints),
    check('events_resource_named', sql`(payment_id is null) = (endpoint_id is not null)`),
    index('events_by_payment').on(table.tenantId, table.paymentId, table.id),
    seenByItsTenant(),
  ],
)
