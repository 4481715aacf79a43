// The table `payments`: what clients asked to be paid, and the result. Amounts are integers in
// minor units. The constraints enforce the invariants of amounts and statuses.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, uniqueIndex, unique } from 'drizzle-orm/pg-core'
import {
  AMOUNT_MAX_MINOR,
  cancellationReasons,
  captureMethods,
  expirySteps,
  statusesWithoutEffect,
} from '../../domain/payments/payment.ts'
import {
  paymentStatuses,
  paymentTransitions,
  type PaymentStatus,
} from '../../domain/payments/payment-status.ts'
import { minor, timestamptz, oneOf, seenByItsTenant, takesStepOf, refersTo } from './columns.ts'
import { ofTenant } from './tenants.ts'
import {
  refundReasons,
  refundStatuses,
  refundTransitions,
  type RefundStatus,
  followedRefundStatuses,
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
    check('payments_status', sql`status in (${oneOf(paymentStatuses)})`),
    // A payment begins as `processing` and takes only the transitions that the domain lists.
    check('payments_step', takesStepOf(paymentTransitions)),
    check('payments_capture_method', sql`capture_method in (${oneOf(captureMethods)})`),
    check('payments_amount', sql`amount_minor between 1 and ${sql.raw(String(AMOUNT_MAX_MINOR))}`),
    // Never more captured than authorized, never more refunded than captured.
    check(
      'payments_amounts_nest',
      sql`0 <= amount_refunded_minor and 0 <= amount_refunding_minor
        and amount_refunded_minor + amount_refunding_minor <= amount_captured_minor
        and amount_captured_minor <= amount_minor`,
    ),
    // A declined payment has a failure code. One whose hold must be released may have it; a payment
    // that waits for its cardholder, or that ended otherwise, has none.
    check(
      'payments_failure',
      sql`case status when 'declined' then failure_code is not null
        when 'requires_action' then failure_code is null when 'succeeded' then failure_code is null
        when 'canceled' then failure_code is null else true end`,
    ),
    check(
      'payments_cancellation_reason',
      sql`cancellation_reason is null
        or (status = 'canceled' and cancellation_reason in (${oneOf(cancellationReasons)}))`,
    ),
    check(
      'payments_expiry_step',
      sql`expiry_step is null
        or (capture_before is not null and expiry_step in (${oneOf(expirySteps)}))`,
    ),
    // A status that claims held or moved money requires the id of the provider's record.
    check(
      'payments_provider_payment',
      sql`status not in ('requires_action', 'requires_capture', 'succeeded') or provider_payment_id is not null`,
    ),
    check('payments_succeeded', sql`status <> 'succeeded' or amount_captured_minor > 0`),
    seenByItsTenant(),
  ],
)

// The table `refunds`: money that goes back to a customer, out of one captured payment. The
// constraints enforce the invariants of amounts and statuses.

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
    check('refunds_status', sql`status in (${oneOf(refundStatuses)})`),
    check('refunds_step', takesStepOf(refundTransitions)),
    check('refunds_reason', sql`reason in (${oneOf(refundReasons)})`),
    check('refunds_amount', sql`amount_minor between 1 and ${sql.raw(String(AMOUNT_MAX_MINOR))}`),
    // For the daily look at the refunds that wait.
    index('refunds_waiting')
      .on(table.tenantId, table.id)
      .where(sql`status in (${oneOf(waitingRefundStatuses)})`),
    check(
      'refunds_failure',
      sql`case status when 'declined' then failure_code is not null when 'failed' then true else failure_code is null end`,
    ),
    check(
      'refunds_provider_refund',
      sql`status not in (${oneOf([...followedRefundStatuses, 'canceled'])}) or provider_refund_id is not null`,
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
