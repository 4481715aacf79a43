// The table `admin_actions`: the audit trail of operators. One row for each action that an operator
// took, or proposed to a second operator. Append-only. The time is the database's, and the id may not be
// older, so that the service cannot write an action into the past.
import { sql } from 'drizzle-orm'
import { check, index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

export const adminActions = pgTable(
  'admin_actions',
  {
    id: uuid('id').notNull(),
    /** The name that the operator's key has in ADMIN_API_KEY. */
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    /**
     * The id of the resource that the action concerned, in the form that the API shows; null when
     * it concerned none.
     */
    subject: text('subject'),
    details: jsonb('details').$type<Record<string, unknown>>().notNull(),
    happenedAt: moment('happened_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.id] }),
    index('admin_actions_by_subject').on(table.subject, table.happenedAt),
    // An hour is for clocks that differ, and for ids that an earlier version makes.
    check(
      'admin_actions_not_backdated',
      sql`place_of_id(id) / 4096 > (extract(epoch from happened_at) - 3600) * 1000`,
    ),
  ],
)
