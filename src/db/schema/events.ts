// The table `events`: one row for each change of the status of a payment or a refund, and of a dispute.
// Clients list events, and receive them by webhook.
import { foreignKey, index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { moment, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'

export const events = pgTable(
  'events',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    type: text('type').notNull(),
    paymentId: uuid('payment_id').notNull(),
    refundId: uuid('refund_id'),
    disputeId: uuid('dispute_id'),
    /** The row of the payment, refund or dispute right after the change. */
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
    index('events_by_payment').on(table.tenantId, table.paymentId, table.id),
    seenByItsTenant(),
  ],
)
