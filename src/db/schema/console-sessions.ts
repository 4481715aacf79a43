// The table `console_sessions`: the sessions of operators in the console. A row opens nothing by
// itself: the token is only in the browser, and the operator's key is only in the settings.
import { pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { bytea, moment } from './columns.ts'

export const consoleSessions = pgTable(
  'console_sessions',
  {
    /** The SHA-256 of the token. */
    tokenHash: bytea('token_hash').notNull(),
    /** The name that the operator's key has in ADMIN_API_KEY. */
    operator: text('operator').notNull(),
    /** The HMAC of the token's hash under the operator's key: without that key the session ends. */
    keyProof: bytea('key_proof').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    /** When the operator was last seen, a few seconds early at most. */
    seenAt: moment('seen_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.tokenHash] })],
)
