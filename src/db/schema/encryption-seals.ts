// The table `encryption_seals`: a known text, sealed with each encryption key that a process has used.
// A process whose keys do not open one of them would find values that it cannot read.
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { moment } from './columns.ts'

export const encryptionSeals = pgTable(
  'encryption_seals',
  {
    /** The name of the key. */
    name: text('name').notNull(),
    /** Null once an operator has given up the values of a lost key. */
    sealed: text('sealed'),
    createdAt: moment('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.name] })],
)
