// The table `ledger_postings`: the ledger. Each row moves an amount from the credited to the
// debited account of a tenant, so that the ledger always balances; the rows of one movement of
// money share a transaction id. The service role may only insert: a correction is a new row.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, unique } from 'drizzle-orm/pg-core'
import { ledgerAccounts, ledgerKinds } from '../../domain/ledger/ledger.ts'
import { minor, timestamptz, refersTo, seenByItsTenant } from './columns.ts'
import { payments, refunds, disputes } from './payments.ts'

export const ledgerPostings = pgTable(
  'ledger_postings',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
    transactionId: t.uuid('transaction_id').notNull(),
    kind: t.text('kind', { enum: ledgerKinds }).notNull(),
    paymentId: t.uuid('payment_id').notNull(),
    refundId: t.uuid('refund_id'),
    disputeId: t.uuid('dispute_id'),
    operationId: t.uuid('operation_id').notNull(),
    debit: t.text('debit', { enum: ledgerAccounts }).notNull(),
    credit: t.text('credit', { enum: ledgerAccounts }).notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: t.text('currency').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
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
    seenByItsTenant(),
  ],
)
