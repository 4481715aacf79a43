// The table `events`: one row for each change of the status of a payment or a refund, of a dispute,
// and of a webhook endpoint. Clients list events, and receive them by webhook.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, text, integer } from 'drizzle-orm/pg-core'
import { timestamptz, refersTo, seenByItsTenant, oneOf } from './columns.ts'
import { payments } from './payments.ts'
import { webhookEndpoints } from './webhook-endpoints.ts'
import { providerEventStatuses, providerEventSubjects } from '../../domain/events/provider-event.ts'

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

// The tables of what the provider tells. `provider_accounts`: the account that its secret key belongs
// to. `provider_events`: the inbox of its webhook events. Each event is stored once, before it is
// acknowledged, however often the provider sends it. The row keeps only ids and names of the payload.
//
// Event ids are unique across tenants, so the tenant is not part of the primary key. Tenant and
// payment come from the event's metadata, which may be wrong, so no foreign key covers them.

export const providerEvents = pgTable(
  'provider_events',
  (t) => ({
    provider: t.text('provider').notNull(),
    id: t.text('id').notNull(),
    type: t.text('type').notNull(),
    about: t.text('about', { enum: providerEventSubjects }).notNull().default('payment'),
    objectId: t.text('object_id').notNull(),
    providerPaymentId: t.text('provider_payment_id'),
    tenantId: t.uuid('tenant_id'),
    paymentId: t.uuid('payment_id'),
    status: t.text('status', { enum: providerEventStatuses }).notNull().default('pending'),
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
