// The audit trail of operators.
import { index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

/** One row for each thing that an operator did, or proposed to another one. Append-only. */
export const adminActions = pgTable(
  'admin_actions',
  {
    id: uuid('id').notNull(),
    /** The name that the operator's key has in ADMIN_API_KEY. */
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    /** What it was done to, as the API shows its id; null for what is about nothing in particular. */
    subject: text('subject'),
    details: jsonb('details').$type<Record<string, unknown>>().notNull(),
    happenedAt: moment('happened_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.id] }),
    index('admin_actions_by_subject').on(table.subject, table.happenedAt),
  ],
)
