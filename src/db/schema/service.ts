// The tables of the service itself and of its operators, which belong to no tenant.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { processKinds, type CircuitReport } from '../../domain/deployment/service-process.ts'
import { bytea, oneOf, textOf, timestamptz } from './columns.ts'

/**
 * The API and worker processes that run, or ran a short while ago. Each process writes its own row.
 * For the people who run the service; nothing else depends on it.
 */
export const serviceProcesses = pgTable(
  'service_processes',
  (t) => ({
    /** Made at the start of the process. */
    id: t.uuid('id').notNull(),
    kind: textOf('kind', processKinds).notNull(),
    host: t.text('host').notNull(),
    /** The groups of queues that a worker works on. */
    queues: t.text('queues').array().notNull(),
    version: t.text('version').notNull(),
    /** The circuit breakers of the process. */
    circuits: t.jsonb('circuits').$type<CircuitReport[]>().notNull(),
    startedAt: timestamptz('started_at').notNull(),
    seenAt: timestamptz('seen_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.id] }),
    check('service_processes_kind', sql`kind in (${oneOf(processKinds)})`),
  ],
)

/**
 * The audit trail of operators. One row for each action that an operator took, or proposed to a
 * second operator. Append-only. The time is the database's, and the id may not be older, so that
 * the service cannot write an action into the past.
 */
export const adminActions = pgTable(
  'admin_actions',
  (t) => ({
    id: t.uuid('id').notNull(),
    /** The name that the operator's key has in ADMIN_API_KEY. */
    actor: t.text('actor').notNull(),
    action: t.text('action').notNull(),
    /**
     * The id of the resource that the action concerned, in the form that the API shows; null when
     * it concerned none.
     */
    subject: t.text('subject'),
    details: t.jsonb('details').$type<Record<string, unknown>>().notNull(),
    happenedAt: timestamptz('happened_at').notNull().defaultNow(),
  }),
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

/**
 * The sessions of operators in the console. A row opens nothing by itself: the token is only in the
 * browser, and the operator's key is only in the settings.
 */
export const consoleSessions = pgTable(
  'console_sessions',
  (t) => ({
    /** The SHA-256 of the token. */
    tokenHash: bytea('token_hash').notNull(),
    /** The name that the operator's key has in ADMIN_API_KEY. */
    operator: t.text('operator').notNull(),
    /** The HMAC of the token's hash under the operator's key: without that key the session ends. */
    keyProof: bytea('key_proof').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** When the operator was last seen, a few seconds early at most. */
    seenAt: timestamptz('seen_at').notNull().defaultNow(),
  }),
  (table) => [primaryKey({ columns: [table.tokenHash] })],
)

/**
 * A known text, sealed with each encryption key that a process has used. A process whose keys do
 * not open one of them would find values that it cannot read.
 */
export const encryptionSeals = pgTable(
  'encryption_seals',
  (t) => ({
    /** The name of the key. */
    name: t.text('name').notNull(),
    /** Null once an operator has given up the values of a lost key. */
    sealed: t.text('sealed'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  }),
  (table) => [primaryKey({ columns: [table.name] })],
)

/**
 * How long the owner of the database wants history to be kept. `npm run migrate` stores it. The
 * service only reads it, and the functions that delete old records obey it, so that an intruder in
 * the service cannot delete younger ones.
 */
export const retentionPeriods = pgTable(
  'retention_periods',
  (t) => ({
    /** What follows `delete_old_` in the name of the function. */
    records: t.text('records').primaryKey(),
    /** 0 means for ever. Without a row, nothing is deleted. */
    days: t.integer('days').notNull(),
  }),
  () => [check('retention_periods_days', sql`days >= 0`)],
)
