// The table `retention_periods`: how long the owner of the database wants history to be kept. `npm run
// migrate` stores it. The service only reads it, and the functions that delete old records obey it, so
// that an intruder in the service cannot delete younger ones.
import { sql } from 'drizzle-orm'
import { check, integer, pgTable, text } from 'drizzle-orm/pg-core'

export const retentionPeriods = pgTable(
  'retention_periods',
  {
    /** What follows `delete_old_` in the name of the function. */
    records: text('records').primaryKey(),
    /** 0 means for ever. Without a row, nothing is deleted. */
    days: integer('days').notNull(),
  },
  () => [check('retention_periods_days', sql`days >= 0`)],
)
