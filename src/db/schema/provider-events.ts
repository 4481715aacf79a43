// The inbox of the provider's events.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { providerEventStatuses } from '../../domain/events/provider-event.ts'
import { moment, oneOf, seenByItsTenant } from './columns.ts'

/**
 * The inbox: each event of the provider once, however often it is sent, stored before it is
 * acknowledged. The provider numbers its events for all tenants together, so that the tenant is no
 * part of the key; which one an event is about is a claim of its metadata, and may be wrong, so that no
 * foreign key holds it. Holds nothing of the payload but what names things.
 */
export const providerEvents = pgTable(
  'provider_events',
  {
    provider: text('provider').notNull(),
    id: text('id').notNull(),
    type: text('type').notNull(),
    objectId: text('object_id').notNull(),
    providerPaymentId: text('provider_payment_id'),
    tenantId: uuid('tenant_id'),
    paymentId: uuid('payment_id'),
    status: text('status', { enum: providerEventStatuses }).notNull().default('pending'),
    /** By the provider's clock. */
    occurredAt: moment('occurred_at').notNull(),
    receivedAt: moment('received_at').notNull().defaultNow(),
    settledAt: moment('settled_at'),
  },
  (table) => [
    // This constraint, and no look-up before it, makes a repeated event one event.
    primaryKey({ columns: [table.provider, table.id] }),
    // What is left for the reconciler, out of a table that keeps everything else as well.
    index('provider_events_open')
      .on(table.receivedAt)
      .where(sql`status in ('pending', 'unmatched')`),
    // What the provider has said of a payment, when its own answer was lost.
    index('provider_events_by_payment')
      .on(table.tenantId, table.paymentId)
      .where(sql`payment_id is not null`),
    check('provider_events_status', sql`status in (${oneOf(providerEventStatuses)})`),
    check('provider_events_settled', sql`(status = 'pending') = (settled_at is null)`),
    // A payment is only named together with whose it is.
    check('provider_events_subject', sql`(tenant_id is null) = (payment_id is null)`),
    seenByItsTenant(),
  ],
)
