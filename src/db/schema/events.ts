// The table `events`: one row for each change of the status of a payment or a refund, of a dispute,
// and of a webhook endpoint. Clients list events, and receive them by webhook.
import { sql } from 'drizzle-orm'
import {
  check,
  foreignKey,
  index,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from 'drizzle-orm/pg-core'
import { moment, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'

export const events = pgTable(
  'events',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    type: text('type').notNull(),
    /** Null for an event of a webhook endpoint. */
    paymentId: uuid('payment_id'),
    refundId: uuid('refund_id'),
    disputeId: uuid('dispute_id'),
    endpointId: uuid('endpoint_id'),
    /** The row of the payment, refund or dispute right after the change; some columns of an endpoint. */
    object: jsonb('object').$type<Record<string, unknown>>().notNull(),
    idempotencyKey: text('idempotency_key'),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    foreignKey({
      name: 'events_payment',
      columns: [table.tenantId, table.paymentId],
      foreignColumns: [payments.tenantId, payments.id],
    }),
    foreignKey({
      name: 'events_endpoint',
      columns: [table.tenantId, table.endpointId],
      foreignColumns: [webhookEndpoints.tenantId, webhookEndpoints.id],
    }),
    check('events_resource_named', sql`(payment_id is null) = (endpoint_id is not null)`),
    index('events_by_payment').on(table.tenantId, table.paymentId, table.id),
    seenByItsTenant(),
  ],
)
