// The table `payments`: what clients asked to be paid, and the result. Amounts are integers in
// minor units. The functions of the CHECKs have the rules of amounts and statuses: drizzle/0000_schema.sql.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, uniqueIndex, unique } from 'drizzle-orm/pg-core'
import {
  cancellationReasons,
  captureMethods,
  expirySteps,
  statusesWithoutEffect,
} from '../../domain/payments/payment.ts'
import { paymentStatuses, type PaymentStatus } from '../../domain/payments/payment-status.ts'
import { minor, timestamptz, oneOf, seenByItsTenant, refersTo } from './columns.ts'
import { ofTenant } from './tenants.ts'
import {
  refundReasons,
  refundStatuses,
  type RefundStatus,
  waitingRefundStatuses,
} from '../../domain/payments/refund.ts'
import { closedDisputeStatuses, disputeStatuses } from '../../domain/payments/dispute.ts'

export const payments = pgTable(
  'payments',
  (t) => ({
    tenantId: ofTenant(),
    id: t.uuid('id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    amountCapturedMinor: minor('amount_captured_minor').notNull().default(0),
    amountRefundedMinor: minor('amount_refunded_minor').notNull().default(0),
    /**
     * Reserved by refunds that are not final, so that refunds together never exceed the capture.
     */
    amountRefundingMinor: minor('amount_refunding_minor').notNull().default(0),
    currency: t.text('currency').notNull(),
    status: t
      .text('status', { enum: paymentStatuses as [PaymentStatus] })
      .notNull()
      .default('processing'),
    /** The previous status, so that a CHECK can refuse an invalid transition. */
    previousStatus: t.text('previous_status', { enum: paymentStatuses as [PaymentStatus] }),
    captureMethod: t.text('capture_method', { enum: captureMethods }).notNull(),
    paymentMethod: t.text('payment_method').notNull(),
    customer: t.text('customer'),
    description: t.text('description'),
    reference: t.text('reference'),
    metadata: t.jsonb('metadata').$type<Record<string, string>>().notNull(),
    offSession: t.boolean('off_session').notNull().default(false),
    returnUrl: t.text('return_url'),
    failureCode: t.text('failure_code'),
    failureDeclineCode: t.text('failure_decline_code'),
    failureMessage: t.text('failure_message'),
    cancellationReason: t.text('cancellation_reason', { enum: cancellationReasons }),
    /** When the provider releases the hold. */
    captureBefore: timestamptz('capture_before'),
    /** What the service still has to do about the end of the hold; null if nothing is held. */
    expiryStep: t.text('expiry_step', { enum: expirySteps }),
    provider: t.text('provider').notNull(),
    providerPaymentId: t.text('provider_payment_id'),
    clientSecret: t.text('client_secret'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // The payments of all tenants, for operators. Ids never change, so that the index costs an update
    // nothing that the others do not.
    index('payments_by_id').on(table.id),
    // One charge at the provider belongs to one payment.
    uniqueIndex('payments_by_provider_payment')
      .on(table.tenantId, table.provider, table.providerPaymentId)
      .where(sql`provider_payment_id is not null`),
    // One order, one charge. A reference is free again when its payment has ended without effect.
    uniqueIndex('payments_by_reference')
      .on(table.tenantId, table.reference)
      .where(sql`reference is not null and status not in (${oneOf(statusesWithoutEffect)})`),
    // For the list of the payments with a reference, also of those that do not use it up.
    index('payments_of_reference')
      .on(table.tenantId, table.reference, table.id)
      .where(sql`reference is not null`),
    // Holds that end: uncaptured ones, and for some days captured ones.
    index('payments_expiring')
      .on(table.captureBefore)
      .where(sql`expiry_step in ('announce', 'look')`),
    // Payments whose details are not erased, the oldest first. These columns never change before that,
    // so that the index costs an update nothing.
    index('payments_with_details')
      .on(table.tenantId, table.createdAt)
      .where(sql`payment_method <> 'erased'`),
    check(
      'payments_rules',
      sql`payments_rules(
        status, previous_status, capture_method, amount_minor, amount_captured_minor,
        amount_refunded_minor, amount_refunding_minor, failure_code, cancellation_reason,
        capture_before, expiry_step, provider_payment_id
      )`,
    ),
    seenByItsTenant(),
  ],
)

// The table `refunds`: money that goes back to a customer, out of one captured payment. The
// rules are those of drizzle/0000_schema.sql.

export const refunds = pgTable(
  'refunds',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
    paymentId: t.uuid('payment_id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: t.text('currency').notNull(),
    status: t
      .text('status', { enum: refundStatuses as [RefundStatus] })
      .notNull()
      .default('processing'),
    previousStatus: t.text('previous_status', { enum: refundStatuses as [RefundStatus] }),
    reason: t.text('reason', { enum: refundReasons }),
    reference: t.text('reference'),
    metadata: t.jsonb('metadata').$type<Record<string, string>>().notNull(),
    failureCode: t.text('failure_code'),
    failureDeclineCode: t.text('failure_decline_code'),
    failureMessage: t.text('failure_message'),
    providerRefundId: t.text('provider_refund_id'),
    moved: t.boolean('moved').notNull().default(false),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    refersTo('refunds_payment', [table.tenantId, table.paymentId], payments),
    index('refunds_by_payment').on(table.tenantId, table.paymentId, table.id),
    // One refund at the provider belongs to one refund of ours.
    uniqueIndex('refunds_by_provider_refund')
      .on(table.tenantId, table.providerRefundId)
      .where(sql`provider_refund_id is not null`),
    uniqueIndex('refunds_by_reference')
      .on(table.tenantId, table.reference)
      .where(sql`reference is not null and status not in (${oneOf(statusesWithoutEffect)})`),
    // For the list of the refunds with a reference, also of those that do not use it up.
    index('refunds_of_reference')
      .on(table.tenantId, table.reference, table.id)
      .where(sql`reference is not null`),
    // For the daily look at the refunds that wait.
    index('refunds_waiting')
      .on(table.tenantId, table.id)
      .where(sql`status in (${oneOf(waitingRefundStatuses)})`),
    check(
      'refunds_rules',
      sql`refunds_rules(status, previous_status, reason, amount_minor, failure_code, provider_refund_id)`,
    ),
    seenByItsTenant(),
  ],
)

// The table `disputes`: a cardholder contests a captured payment at the bank. The row shows where the
// dispute stands at the provider, and how much of its money is posted to the ledger.

export const disputes = pgTable(
  'disputes',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
    paymentId: t.uuid('payment_id').notNull(),
    providerDisputeId: t.text('provider_dispute_id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: t.text('currency').notNull(),
    reason: t.text('reason').notNull(),
    status: t.text('status', { enum: disputeStatuses }).notNull(),
    evidenceDueAt: timestamptz('evidence_due_at'),
    withdrawnMinor: minor('withdrawn_minor').notNull().default(0),
    reinstatedMinor: minor('reinstated_minor').notNull().default(0),
    /** Of the provider, in the currency of the balance. */
    feeMinor: minor('fee_minor').notNull().default(0),
    feeCurrency: t.text('fee_currency'),
    /** By the provider's clock. */
    openedAt: timestamptz('opened_at').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    refersTo('disputes_payment', [table.tenantId, table.paymentId], payments),
    // Several events of a new dispute can come at once: one of them inserts it.
    unique('disputes_one_per_provider_dispute').on(table.tenantId, table.providerDisputeId),
    index('disputes_by_payment').on(table.tenantId, table.paymentId, table.id),
    // For the daily look at the disputes that are not closed.
    index('disputes_open')
      .on(table.tenantId, table.id)
      .where(sql`status not in (${oneOf(closedDisputeStatuses)})`),
    check('disputes_status', sql`status in (${oneOf(disputeStatuses)})`),
    check(
      'disputes_amounts',
      sql`amount_minor > 0 and withdrawn_minor >= 0 and reinstated_minor >= 0`,
    ),
    check('disputes_fee', sql`fee_minor = 0 or fee_currency is not null`),
    seenByItsTenant(),
  ],
)
