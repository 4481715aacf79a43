// The table `reconciliation_seen`: the provider's objects that a reconciliation run has compared.
// The run uses it to find our records that the provider lacks, without holding the window in
// memory. The rows are deleted after the run ended.
import { foreignKey, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { reconciliationRuns } from './runs.ts'

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
