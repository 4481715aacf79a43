// The table `disputes`: a cardholder contests a captured payment at the bank. The row shows where the
// dispute stands at the provider, and how much of its money is posted to the ledger.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, unique } from 'drizzle-orm/pg-core'
import { closedDisputeStatuses, disputeStatuses } from '../../domain/payments/dispute.ts'
import { minor, timestamptz, oneOf, refersTo, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'

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
