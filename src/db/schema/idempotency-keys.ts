// Idempotency keys: the state of every operation. Each constraint says what it forbids.
import { sql } from 'drizzle-orm'
import {
  check,
  foreignKey,
  index,
  integer,
  boolean,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core'
import { localOperations, operationStatuses } from '../../domain/operations/operation.ts'
import { bytea, moment, oneOf, seenByItsTenant } from './columns.ts'
import { payments } from './payments.ts'
import { refunds } from './refunds.ts'

/**
 * One row per intended operation: the client's key, what it asked for (as a fingerprint), how far the
 * work has come, who may go on with it, and in the end the response that every retry gets.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  {
    tenantId: uuid('tenant_id').notNull(),
    id: uuid('id').notNull(),
    key: text('key').notNull(),
    fingerprint: bytea('fingerprint').notNull(),
    operation: text('operation').notNull(),
    /** The payment that it makes or works on; a local operation is about none. */
    paymentId: uuid('payment_id'),
    /** The refund that a `refund.create` makes. */
    refundId: uuid('refund_id'),
    /** What the operation was asked for and no resource holds, such as the amount of a capture. */
    parameters: jsonb('parameters').$type<Record<string, unknown>>().notNull().default({}),
    status: text('status', { enum: operationStatuses }).notNull().default('pending'),
    recoveryPoint: text('recovery_point').notNull().default('started'),
    leaseEpoch: integer('lease_epoch').notNull().default(0),
    leaseExpiresAt: moment('lease_expires_at'),
    attempts: integer('attempts').notNull().default(0),
    /** Whether the foreign call of the current phase may have run without its answer recorded. */
    inDoubt: boolean('in_doubt').notNull().default(false),
    /** When the foreign call of the current phase can first have been made; starts the key window. */
    phaseBeganAt: moment('phase_began_at'),
    lastError: text('last_error'),
    /** The job that takes it up, so that a pending operation whose job is gone can be told. */
    jobId: uuid('job_id'),
    /** When the outcome of the current phase became unknown; the reconciler's schedule counts from it. */
    unknownAt: moment('unknown_at'),
    /** When the reconciler looks next; null when only a person can help. */
    nextCheckAt: moment('next_check_at'),
    checkedAt: moment('checked_at'),
    /** What an operator has said of an unknown outcome, for the reconciler to verify. */
    evidence: jsonb('evidence').$type<Record<string, unknown>>(),
    /** What an expired key of the same name had made: this operation is a new one. */
    earlier: jsonb('earlier').$type<Record<string, unknown>>(),
    responseStatus: smallint('response_status'),
    responseHeaders: jsonb('response_headers').$type<Record<string, string>>(),
    /** The exact bytes that were answered, so that a replay cannot differ. */
    responseBody: text('response_body'),
    createdAt: moment('created_at').notNull().defaultNow(),
    finishedAt: moment('finished_at'),
    expiresAt: moment('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // This constraint, and no look-up before it, decides who executes a key.
    unique('idempotency_keys_one_per_key').on(table.tenantId, table.key),
    // The key points at the resource it made, so that deleting an old key touches nothing else.
    foreignKey({
      name: 'idempotency_keys_payment',
      columns: [table.tenantId, table.paymentId],
      foreignColumns: [payments.tenantId, payments.id],
    }),
    foreignKey({
      name: 'idempotency_keys_refund',
      columns: [table.tenantId, table.refundId],
      foreignColumns: [refunds.tenantId, refunds.id],
    }),
    check('idempotency_keys_status', sql`status in (${oneOf(operationStatuses)})`),
    check('idempotency_keys_key', sql`length(key) between 1 and 255`),
    // Whatever a worker takes up names a payment.
    check(
      'idempotency_keys_payment_named',
      sql`(payment_id is null) = (operation in (${oneOf(localOperations)}))`,
    ),
    // A lease has an end exactly while somebody works under it.
    check('idempotency_keys_lease', sql`(status = 'processing') = (lease_expires_at is not null)`),
    // Finished, completed and answered are one and the same moment, and only for good: no 5xx.
    check(
      'idempotency_keys_finished',
      sql`(status = 'completed') = (recovery_point = 'finished')
        and num_nonnulls(finished_at, response_status, response_headers, response_body)
          = case status when 'completed' then 4 else 0 end`,
    ),
    check('idempotency_keys_response', sql`response_status / 100 in (2, 4)`),
    // Only the unknown is checked. That it says since when, and that what is settled forgets it, can be
    // forced once no worker runs any more that knows nothing of these columns.
    check(
      'idempotency_keys_unknown',
      sql`status = 'unknown' or (next_check_at is null and checked_at is null)`,
    ),
    // A few rows out of ten million: what the sweeper, the reconciler and the reaper go through.
    index('idempotency_keys_unfinished')
      .on(table.createdAt)
      .where(sql`status in ('pending', 'processing')`),
    index('idempotency_keys_to_check')
      .on(table.nextCheckAt)
      .where(sql`status = 'unknown'`),
    index('idempotency_keys_unknown_payment')
      .on(table.tenantId, table.paymentId)
      .where(sql`status = 'unknown'`),
    index('idempotency_keys_expired')
      .on(table.expiresAt)
      .where(sql`status in ('completed', 'failed_retryable')`),
    // Few beside the completed ones, which the reaper would have to go through to find them.
    index('idempotency_keys_given_up')
      .on(table.expiresAt)
      .where(sql`status = 'failed_retryable'`),
    // Proved that nothing happened, or not proved: never both.
    check(
      'idempotency_keys_doubt',
      sql`case status when 'failed_retryable' then not in_doubt when 'unknown' then in_doubt else true end`,
    ),
    seenByItsTenant(),
  ],
)
