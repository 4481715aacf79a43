// The tables of what clients asked to be paid and what became of it: payments, refunds, disputes and the
// ledger. Amounts are integers in minor units. The functions of the CHECKs have the rules of amounts and
// statuses: drizzle/0000_schema.sql.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { ledgerAccounts, ledgerKinds } from '../../domain/ledger/ledger.ts'
import { closedDisputeStatuses, disputeStatuses } from '../../domain/payments/dispute.ts'
import {
  cancellationReasons,
  captureMethods,
  expirySteps,
  statusesWithoutEffect,
  paymentStatuses,
} from '../../domain/payments/payment.ts'
import {
  refundReasons,
  refundStatuses,
  waitingRefundStatuses,
} from '../../domain/payments/refund.ts'
import {
  keyedByTenant,
  minor,
  oneOf,
  refersTo,
  tenantAndId,
  textOf,
  timestamptz,
} from './columns.ts'
import { ofTenant } from './tenants.ts'

export const payments = pgTable(
  'payments',
  (t) => ({
    tenantId: ofTenant(),
    id: t.uuid('id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    amountCapturedMinor: minor('amount_captured_minor').notNull().default(0),
    amountRefundedMinor: minor('amount_refunded_minor').notNull().default(0),
    /** Reserved by refunds that are not final, so that refunds together never exceed the capture. */
    amountRefundingMinor: minor('amount_refunding_minor').notNull().default(0),
    currency: t.text('currency').notNull(),
    status: textOf('status', paymentStatuses).notNull().default('processing'),
    /** The previous status, so that a CHECK can refuse an invalid transition. */
    previousStatus: textOf('previous_status', paymentStatuses),
    captureMethod: textOf('capture_method', captureMethods).notNull(),
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
    cancellationReason: textOf('cancellation_reason', cancellationReasons),
    /** When the provider releases the hold. */
    captureBefore: timestamptz('capture_before'),
    /** What the service still has to do about the end of the hold; null if nothing is held. */
    expiryStep: textOf('expiry_step', expirySteps),
    provider: t.text('provider').notNull(),
    providerPaymentId: t.text('provider_payment_id'),
    clientSecret: t.text('client_secret'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
  }),
  (table) => [
    ...keyedByTenant(table),
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
  ],
)

/** Money that goes back to a customer, out of one captured payment. */
export const refunds = pgTable(
  'refunds',
  (t) => ({
    ...tenantAndId,
    paymentId: t.uuid('payment_id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: t.text('currency').notNull(),
    status: textOf('status', refundStatuses).notNull().default('processing'),
    previousStatus: textOf('previous_status', refundStatuses),
    reason: textOf('reason', refundReasons),
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
    ...keyedByTenant(table),
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
  ],
)

/**
 * A cardholder contests a captured payment at the bank. The row shows where the dispute stands at the
 * provider, and how much of its money is posted to the ledger.
 */
export const disputes = pgTable(
  'disputes',
  (t) => ({
    ...tenantAndId,
    paymentId: t.uuid('payment_id').notNull(),
    providerDisputeId: t.text('provider_dispute_id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: t.text('currency').notNull(),
    reason: t.text('reason').notNull(),
    status: textOf('status', disputeStatuses).notNull(),
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
    ...keyedByTenant(table),
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
  ],
)

/**
 * Each row moves an amount from the credited to the debited account of a tenant, so that the ledger always
 * balances; the rows of one movement of money share a transaction id. The service role may only insert: a
 * correction is a new row.
 */
export const ledgerPostings = pgTable(
  'ledger_postings',
  (t) => ({
    ...tenantAndId,
    transactionId: t.uuid('transaction_id').notNull(),
    kind: textOf('kind', ledgerKinds).notNull(),
    paymentId: t.uuid('payment_id').notNull(),
    refundId: t.uuid('refund_id'),
    disputeId: t.uuid('dispute_id'),
    operationId: t.uuid('operation_id').notNull(),
    debit: textOf('debit', ledgerAccounts).notNull(),
    credit: textOf('credit', ledgerAccounts).notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: t.text('currency').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [
    ...keyedByTenant(table),
    refersTo('ledger_postings_payment', [table.tenantId, table.paymentId], payments),
    refersTo('ledger_postings_refund', [table.tenantId, table.refundId], refunds),
    refersTo('ledger_postings_dispute', [table.tenantId, table.disputeId], disputes),
    // An operation posts each of its movements once, even when several workers try.
    unique('ledger_postings_once').on(
      table.tenantId,
      table.operationId,
      table.kind,
      table.debit,
      table.credit,
    ),
    index('ledger_postings_by_transaction').on(table.tenantId, table.transactionId),
    index('ledger_postings_by_payment').on(table.tenantId, table.paymentId),
    check(
      'ledger_postings_rules',
      sql`ledger_postings_rules(kind, debit, credit, amount_minor, refund_id, dispute_id)`,
    ),
  ],
)
