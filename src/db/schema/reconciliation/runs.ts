// The table `reconciliation_runs`: one row for each reconciliation of a window of time. A run
// covers all tenants of one provider, as the provider's lists do, so that the primary key has no
// tenant.
import { sql } from 'drizzle-orm'
import { check, index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { runStatuses } from '../../../domain/operations/finding.ts'
import { moment, oneOf } from '../columns.ts'

export const reconciliationRuns = pgTable(
  'reconciliation_runs',
  {
    id: uuid('id').notNull(),
    provider: text('provider').notNull(),
    /** The window of creation times. Its start is inclusive, its end exclusive. */
    windowFrom: moment('window_from').notNull(),
    windowTo: moment('window_to').notNull(),
    status: text('status', { enum: runStatuses }).notNull().default('pending'),
    /** Who requested the run: an operator, the schedule or the command line. */
    requestedBy: text('requested_by').notNull(),
    /** How much was compared, found and repaired. */
    counts: jsonb('counts').$type<Record<string, number>>().notNull().default({}),
    lastError: text('last_error'),
    createdAt: moment('created_at').notNull().defaultNow(),
    finishedAt: moment('finished_at'),
  },
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
