// Findings: what waits for a person, with the evidence.
import { sql } from 'drizzle-orm'
import {
  check,
  foreignKey,
  index,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { findingKinds, findingStatuses } from '../../domain/operations/finding.ts'
import { moment, oneOf, seenByItsTenant } from './columns.ts'
import { reconciliationRuns } from './reconciliation-runs.ts'

/**
 * One row for each thing that a machine could not set right. Operators own it, not a tenant: what is
 * missing here may be no tenant's, so that no foreign key holds whom it names.
 */
export const reconciliationFindings = pgTable(
  'reconciliation_findings',
  {
    id: uuid('id').notNull(),
    provider: text('provider').notNull(),
    kind: text('kind', { enum: findingKinds }).notNull(),
    /** What it is about: an id of the provider's, or of ours as it is shown. */
    objectId: text('object_id').notNull(),
    /** The comparison that came by it first; null for what needed none. */
    runId: uuid('run_id'),
    tenantId: uuid('tenant_id'),
    paymentId: uuid('payment_id'),
    refundId: uuid('refund_id'),
    operationId: uuid('operation_id'),
    /** What our records say, and what the provider's do: the evidence. */
    ours: jsonb('ours').$type<Record<string, unknown>>(),
    theirs: jsonb('theirs').$type<Record<string, unknown>>(),
    status: text('status', { enum: findingStatuses }).notNull().default('open'),
    openedAt: moment('opened_at').notNull().defaultNow(),
    resolvedAt: moment('resolved_at'),
    /** Who closed it, an operator or the reconciler, and why. */
    resolvedBy: text('resolved_by'),
    note: text('note'),
  },
  (table) => [
    primaryKey({ columns: [table.id] }),
    // The same difference is one finding, however often the window is compared.
    unique('reconciliation_findings_once').on(table.provider, table.kind, table.objectId),
    index('reconciliation_findings_open')
      .on(table.openedAt)
      .where(sql`status = 'open'`),
    index('reconciliation_findings_of_run').on(table.runId),
    foreignKey({
      name: 'reconciliation_findings_run',
      columns: [table.runId],
      foreignColumns: [reconciliationRuns.id],
    }),
    check('reconciliation_findings_kind', sql`kind in (${oneOf(findingKinds)})`),
    check('reconciliation_findings_status', sql`status in (${oneOf(findingStatuses)})`),
    // Closed means that somebody closed it, and when.
    check(
      'reconciliation_findings_resolved',
      sql`(status = 'resolved') = (resolved_at is not null)
        and (status = 'resolved') = (resolved_by is not null)`,
    ),
    // An operation is only named together with whose it is.
    check(
      'reconciliation_findings_subject',
      sql`tenant_id is not null or (payment_id is null and refund_id is null and operation_id is null)`,
    ),
    seenByItsTenant(),
  ],
)
