// The table `reconciliation_findings`: problems that need a person, with the evidence. Findings
// belong to operators, not to tenants: a record that is missing here may belong to no tenant, so no
// foreign key covers the ids.
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
import { findingKinds, findingStatuses } from '../../../domain/operations/finding.ts'
import { moment, oneOf, seenByItsTenant } from '../columns.ts'
import { reconciliationRuns } from './runs.ts'

export const reconciliationFindings = pgTable(
  'reconciliation_findings',
  {
    id: uuid('id').notNull(),
    provider: text('provider').notNull(),
    kind: text('kind', { enum: findingKinds }).notNull(),
    /**
     * The object of the finding: an id of the provider, or one of ours in the form that the API
     * shows.
     */
    objectId: text('object_id').notNull(),
    /** The reconciliation run that opened the finding; null when none did. */
    runId: uuid('run_id'),
    tenantId: uuid('tenant_id'),
    paymentId: uuid('payment_id'),
    refundId: uuid('refund_id'),
    operationId: uuid('operation_id'),
    /** The evidence: our record, and the provider's record. */
    ours: jsonb('ours').$type<Record<string, unknown>>(),
    theirs: jsonb('theirs').$type<Record<string, unknown>>(),
    status: text('status', { enum: findingStatuses }).notNull().default('open'),
    openedAt: moment('opened_at').notNull().defaultNow(),
    resolvedAt: moment('resolved_at'),
    /** Who closed the finding, an operator or the service itself, and why. */
    resolvedBy: text('resolved_by'),
    note: text('note'),
  },
  (table) => [
    primaryKey({ columns: [table.id] }),
    // The same difference is one finding, even when several runs compare the window.
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
    // A resolved finding says who resolved it, and when.
    check(
      'reconciliation_findings_resolved',
      sql`(status = 'resolved') = (resolved_at is not null)
        and (status = 'resolved') = (resolved_by is not null)`,
    ),
    // A finding that names a resource or an operation also names its tenant.
    check(
      'reconciliation_findings_subject',
      sql`tenant_id is not null or (payment_id is null and refund_id is null and operation_id is null)`,
    ),
    seenByItsTenant(),
  ],
)
