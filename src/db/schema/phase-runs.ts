// The table `phase_runs`: the timeline of every operation. One row for each try of an atomic phase,
// with the request to the provider, its answer, and the recovery point that was reached.
// Append-only; it outlives the idempotency key.
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

export const phaseRuns = pgTable(
  'phase_runs',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    paymentId: uuid('payment_id').notNull(),
    operationId: uuid('operation_id').notNull(),
    operation: text('operation').notNull(),
    /** The recovery point at which the phase started; null for the intent itself. */
    phase: text('phase'),
    /** The recovery point that the try reached; null when it did not advance. */
    reached: text('reached'),
    attempt: integer('attempt').notNull(),
    leaseEpoch: integer('lease_epoch').notNull(),
    outcome: text('outcome'),
    asked: jsonb('asked').$type<Record<string, unknown>>(),
    answered: jsonb('answered').$type<Record<string, unknown>>(),
    startedAt: moment('started_at').notNull(),
    /** When the call was answered, or given up; null for the intent. */
    endedAt: moment('ended_at'),
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
    // An operation reaches each recovery point once, even when several workers try.
    uniqueIndex('phase_runs_reached_once')
      .on(table.tenantId, table.operationId, table.reached)
      .where(sql`reached is not null`),
    // Takeovers and retries, which are few. An operation that goes well has one lease epoch.
    index('phase_runs_later_epochs')
      .on(table.id)
      .where(sql`lease_epoch > 1`),
    check('phase_runs_outcome', sql`outcome in ('done', 'declined', 'not_executed', 'unknown')`),
    check(
      'phase_runs_call',
      sql`(outcome is null) = (asked is null) and (asked is null) = (answered is null)`,
    ),
    seenByItsTenant(),
  ],
)
