// The table `phase_runs`: the timeline of every operation. One row for each try of an atomic phase,
// with the request to the provider, its answer, and the recovery point that was reached.
// Append-only; it outlives the idempotency key.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, uniqueIndex } from 'drizzle-orm/pg-core'
import { timestamptz, refersTo, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'

export const phaseRuns = pgTable(
  'phase_runs',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    id: t.uuid('id').notNull(),
    paymentId: t.uuid('payment_id').notNull(),
    operationId: t.uuid('operation_id').notNull(),
    operation: t.text('operation').notNull(),
    /** The recovery point at which the phase started; null for the intent itself. */
    phase: t.text('phase'),
    /** The recovery point that the try reached; null when it did not advance. */
    reached: t.text('reached'),
    attempt: t.integer('attempt').notNull(),
    leaseEpoch: t.integer('lease_epoch').notNull(),
    outcome: t.text('outcome'),
    asked: t.jsonb('asked').$type<Record<string, unknown>>(),
    answered: t.jsonb('answered').$type<Record<string, unknown>>(),
    startedAt: timestamptz('started_at').notNull(),
    /** When the call was answered, or given up; null for the intent. */
    endedAt: timestamptz('ended_at'),
    recordedAt: timestamptz('recorded_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('phase_runs_by_payment').on(table.tenantId, table.paymentId, table.id),
    refersTo('phase_runs_payment', [table.tenantId, table.paymentId], payments),
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
