// The tables of the reconciliation.
import { sql } from 'drizzle-orm'
import { check, foreignKey, index, pgTable, primaryKey, unique } from 'drizzle-orm/pg-core'
import { findingKinds, findingStatuses, runStatuses } from '../../domain/operations/finding.ts'
import { oneOf, seenByItsTenant, textOf, timestamptz } from './columns.ts'

/**
 * One row for each reconciliation of a window of time. A run covers all tenants of one provider, as
 * the provider's lists do, so that the primary key has no tenant.
 */
export const reconciliationRuns = pgTable(
  'reconciliation_runs',
  (t) => ({
    id: t.uuid('id').notNull(),
    provider: t.text('provider').notNull(),
    /** The window of creation times. Its start is inclusive, its end exclusive. */
    windowFrom: timestamptz('window_from').notNull(),
    windowTo: timestamptz('window_to').notNull(),
    status: textOf('status', runStatuses).notNull().default('pending'),
    /** Who requested the run: an operator, the schedule or the command line. */
    requestedBy: t.text('requested_by').notNull(),
    /** How much was compared, found and repaired. */
    counts: t.jsonb('counts').$type<Record<string, number>>().notNull().default({}),
    lastError: t.text('last_error'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
  }),
  (table) => [
    primaryKey({ columns: [table.id] }),
    index('reconciliation_runs_newest').on(table.createdAt),
    check('reconciliation_runs_window', sql`window_from < window_to`),
    check('reconciliation_runs_status', sql`status in (${oneOf(runStatuses)})`),
    check(
      'reconciliation_runs_finished',
      sql`(status in ('completed', 'failed')) = (finished_at is not null)`,
    ),
  ],
)

/**
 * Problems that need a person, with the evidence. Findings belong to operators, not to tenants: a
 * record that is missing here may belong to no tenant, so no foreign key covers the ids.
 */
export const reconciliationFindings = pgTable(
  'reconciliation_findings',
  (t) => ({
    id: t.uuid('id').notNull(),
    provider: t.text('provider').notNull(),
    kind: textOf('kind', findingKinds).notNull(),
    /**
     * The object of the finding: an id of the provider, or one of ours in the form that the API
     * shows.
     */
    objectId: t.text('object_id').notNull(),
    /** The reconciliation run that opened the finding; null when none did. */
    runId: t.uuid('run_id'),
    tenantId: t.uuid('tenant_id'),
    paymentId: t.uuid('payment_id'),
    refundId: t.uuid('refund_id'),
    operationId: t.uuid('operation_id'),
    /** The evidence: our record, and the provider's record. */
    ours: t.jsonb('ours').$type<Record<string, unknown>>(),
    theirs: t.jsonb('theirs').$type<Record<string, unknown>>(),
    status: textOf('status', findingStatuses).notNull().default('open'),
    openedAt: timestamptz('opened_at').notNull().defaultNow(),
    resolvedAt: timestamptz('resolved_at'),
    /** Who closed the finding, an operator or the service itself, and why. */
    resolvedBy: t.text('resolved_by'),
    note: t.text('note'),
  }),
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

/**
 * The provider's objects that a reconciliation run has compared. The run uses it to find our
 * records that the provider lacks, without holding the window in memory. The rows are deleted after
 * the run ended.
 */
export const reconciliationSeen = pgTable(
  'reconciliation_seen',
  (t) => ({
    runId: t.uuid('run_id').notNull(),
    objectId: t.text('object_id').notNull(),
  }),
  (table) => [
    primaryKey({ columns: [table.runId, table.objectId] }),
    foreignKey({
      name: 'reconciliation_seen_run',
      columns: [table.runId],
      foreignColumns: [reconciliationRuns.id],
    }),
  ],
)
