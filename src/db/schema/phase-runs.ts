// The timeline of every operation.
import { sql } from 'drizzle-orm'
import {
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { moment, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'

/**
 * The timeline: one row for each try of an atomic phase, saying what the provider was asked and
 * answered, and which recovery point was reached, if one was. Append-only; it outlives the key.
 */
export const phaseRuns = pgTable(
  'phase_runs',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    paymentId: uuid('payment_id').notNull(),
    operationId: uuid('operation_id').notNull(),
    operation: text('operation').notNull(),
    /** The recovery point that the phase set out from; null for the intent itself. */
    phase: text('phase'),
    /** The recovery point that it reached; null when the try settled nothing. */
    reached: text('reached'),
    attempt: integer('attempt').notNull(),
    leaseEpoch: integer('lease_epoch').notNull(),
    outcome: text('outcome'),
    asked: jsonb('asked').$type<Record<string, unknown>>(),
    answered: jsonb('answered').$type<Record<string, unknown>>(),
    startedAt: moment('started_at').notNull(),
    recordedAt: moment('recorded_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('phase_runs_by_payment').on(table.tenantId, table.paymentId, table.id),
    foreignKey({
      name: 'phase_runs_payment',
      columns: [table.tenantId, table.paymentId],
      foreignColumns: [payments.tenantId, payments.id],
    }),
    // Each recovery point is reached once, whoever works on the operation.
    uniqueIndex('phase_runs_reached_once')
      .on(table.tenantId, table.operationId, table.reached)
      .where(sql`reached is not null`),
    check('phase_runs_outcome', sql`outcome in ('done', 'declined', 'not_executed', 'unknown')`),
    check(
      'phase_runs_call',
      sql`(outcome is null) = (asked is null) and (asked is null) = (answered is null)`,
    ),
    seenByItsTenant(),
  ],
)
