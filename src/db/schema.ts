// The tables, and the invariants that Postgres itself keeps: each constraint says what it forbids.
// Every tenant-owned table has (tenant_id, id) as its key and every foreign key carries tenant_id, so
// that no row can point at another tenant's, and the schema can be sharded by tenant as it is.
import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  customType,
  foreignKey,
  index,
  integer,
  boolean,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { operationStatuses } from '../domain/operation.ts'
import { AMOUNT_MAX_MINOR, captureMethods, paymentStatuses } from '../domain/payment.ts'

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })
const moment = (name: string) => timestamp(name, { withTimezone: true })
const minor = (name: string) => bigint(name, { mode: 'number' })
const oneOf = (values: readonly string[]) => sql.raw(values.map((value) => `'${value}'`).join(', '))

/** Merchants. Everything below belongs to exactly one of them. */
export const tenants = pgTable('tenants', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: moment('created_at').notNull().defaultNow(),
})

/**
 * The secrets that name a tenant, hashed. The public prefix is how a request's key is found before
 * its tenant is known; it is not unique, so that two keys may share one by chance.
 */
export const apiKeys = pgTable(
  'api_keys',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    id: uuid('id').notNull(),
    prefix: text('prefix').notNull(),
    secretHash: bytea('secret_hash').notNull(),
    createdAt: moment('created_at').notNull().defaultNow(),
    revokedAt: moment('revoked_at'),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    index('api_keys_by_prefix').on(table.prefix),
    // One secret names one tenant.
    unique('api_keys_secret_once').on(table.secretHash),
  ],
)

/** What clients asked to be paid, and what came of it. Amounts are integers in minor units. */
export const payments = pgTable(
  'payments',
  {
    tenantId: uuid('tenant_id')
      .notNull()
      .references(() => tenants.id),
    id: uuid('id').notNull(),
    amountMinor: minor('amount_minor').notNull(),
    amountCapturedMinor: minor('amount_captured_minor').notNull().default(0),
    amountRefundedMinor: minor('amount_refunded_minor').notNull().default(0),
    currency: text('currency').notNull(),
    status: text('status', { enum: paymentStatuses }).notNull().default('processing'),
    captureMethod: text('capture_method', { enum: captureMethods }).notNull(),
    paymentMethod: text('payment_method').notNull(),
    customer: text('customer'),
    description: text('description'),
    metadata: jsonb('metadata').$type<Record<string, string>>().notNull(),
    failureCode: text('failure_code'),
    failureDeclineCode: text('failure_decline_code'),
    failureMessage: text('failure_message'),
    provider: text('provider').notNull(),
    providerPaymentId: text('provider_payment_id'),
    createdAt: moment('created_at').notNull().defaultNow(),
    updatedAt: moment('updated_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.tenantId, table.id] }),
    // One charge at the provider never stands behind two payments.
    uniqueIndex('payments_by_provider_payment')
      .on(table.tenantId, table.provider, table.providerPaymentId)
      .where(sql`provider_payment_id is not null`),
    check('payments_status', sql`status in (${oneOf(paymentStatuses)})`),
    check('payments_capture_method', sql`capture_method in (${oneOf(captureMethods)})`),
    check('payments_amount', sql`amount_minor between 1 and ${sql.raw(String(AMOUNT_MAX_MINOR))}`),
    // Never more captured than authorized, never more refunded than captured.
    check(
      'payments_amounts_nest',
      sql`0 <= amount_refunded_minor and amount_refunded_minor <= amount_captured_minor and amount_captured_minor <= amount_minor`,
    ),
    // A decline says why, and nothing else than a decline or a failure has a reason to give.
    check(
      'payments_failure',
      sql`case status when 'declined' then failure_code is not null when 'failed' then true else failure_code is null end`,
    ),
    // Money is only said to be held or moved when the provider's record of it is named.
    check(
      'payments_provider_payment',
      sql`status not in ('requires_capture', 'succeeded') or provider_payment_id is not null`,
    ),
    check('payments_succeeded', sql`status <> 'succeeded' or amount_captured_minor > 0`),
  ],
)

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
    paymentId: uuid('payment_id').notNull(),
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
    check('idempotency_keys_status', sql`status in (${oneOf(operationStatuses)})`),
    check('idempotency_keys_key', sql`length(key) between 1 and 255`),
    // A lease has an end exactly while somebody works under it.
    check('idempotency_keys_lease', sql`(status = 'processing') = (lease_expires_at is not null)`),
    // Finished, completed and answered are one and the same moment, and only for good: no 5xx.
    check(
      'idempotency_keys_finished',
      sql`(status = 'completed') = (recovery_point = 'finished')
        and (status = 'completed') = (finished_at is not null)
        and (status = 'completed') = (response_status is not null)
        and (status = 'completed') = (response_headers is not null)
        and (status = 'completed') = (response_body is not null)`,
    ),
    check(
      'idempotency_keys_response',
      sql`response_status between 200 and 299 or response_status between 400 and 499`,
    ),
    // Proved that nothing happened, or not proved: never both.
    check(
      'idempotency_keys_doubt',
      sql`case status when 'failed_retryable' then not in_doubt when 'unknown' then in_doubt else true end`,
    ),
  ],
)

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
  ],
)
