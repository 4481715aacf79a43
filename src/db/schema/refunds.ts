// The table `refunds`: money that goes back to a customer, out of one captured payment. The
// constraints enforce the invariants of amounts and statuses.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core'
import { AMOUNT_MAX_MINOR, statusesWithoutEffect } from '../../domain/payments/payment.ts'
import {
  refundReasons,
  refundStatuses,
  refundTransitions,
  type RefundStatus,
  followedRefundStatuses,
  waitingRefundStatuses,
} from '../../domain/payments/refund.ts'
import { minor, timestamptz, oneOf, refersTo, seenByItsTenant, takesStepOf } from './columns.ts'
import { payments } from './payments.ts'

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
