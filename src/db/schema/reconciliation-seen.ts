// What a running comparison has seen at the provider.
import { foreignKey, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { reconciliationRuns } from './reconciliation-runs.ts'

/**
 * The provider's objects that a run has come by, so that what it has not come by is found without
 * holding a window in memory. Emptied when the run ends.
 */
export const reconciliationSeen = pgTable(
  'reconciliation_seen',
  {
    runId: uuid('run_id').notNull(),
    objectId: text('object_id').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.objectId] }),
    foreignKey({
      name: 'reconciliation_seen_run',
      columns: [table.runId],
      foreignColumns: [reconciliationRuns.id],
    }),
  ],
)
