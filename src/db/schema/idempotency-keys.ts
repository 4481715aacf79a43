// The tables of operations: their keys, how often these were used again, what remains of them, and the
// timelines.
import { sql } from 'drizzle-orm'
import { check, index, pgTable, primaryKey, unique, uniqueIndex } from 'drizzle-orm/pg-core'
import { cancellationStatuses } from '../../domain/idempotency/idempotency-key.ts'
import { operationStatuses } from '../../domain/operations/operation.ts'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { RowOf } from '../connection/rows.ts'
import {
  bytea,
  keyedByTenant,
  refersTo,
  seenByItsTenant,
  tenantAndId,
  textOf,
  timestamptz,
} from './columns.ts'
import { disputes, payments, refunds } from './payments.ts'
import { ofTenant } from './tenants.ts'

/**
 * The state of every operation. One row holds the client's idempotency key, a fingerprint of the request,
 * the progress of the operation, the lease of the worker, and finally the response that every retry gets.
 */
export const idempotencyKeys = pgTable(
  'idempotency_keys',
  (t) => ({
    ...tenantAndId,
    key: t.text('key').notNull(),
    /** Of the request as it was sent: a retry with the same bytes matches under every schema. */
    fingerprint: bytea('fingerprint').notNull(),
    /** The rule of `validated_fingerprint`. Version 1, of older processes, has none. */
    fingerprintVersion: t.smallint('fingerprint_version').notNull().default(1),
    /** Of the validated request: a default that is spelled out does not change it. */
    validatedFingerprint: bytea('validated_fingerprint'),
    operation: t.text('operation').notNull(),
    /** The payment that the operation creates or changes; null for a local operation. */
    paymentId: t.uuid('payment_id'),
    refundId: t.uuid('refund_id'),
    disputeId: t.uuid('dispute_id'),
    /** Parameters of the request that no resource stores: for example the amount of a capture. */
    parameters: t.jsonb('parameters').$type<Record<string, unknown>>().notNull().default({}),
    status: textOf('status', operationStatuses).notNull().default('pending'),
    recoveryPoint: t.text('recovery_point').notNull().default('started'),
    leaseEpoch: t.integer('lease_epoch').notNull().default(0),
    leaseExpiresAt: timestamptz('lease_expires_at'),
    attempts: t.integer('attempts').notNull().default(0),
    /** Whether the call of the current phase may have been executed without a recorded answer. */
    inDoubt: t.boolean('in_doubt').notNull().default(false),
    /**
     * When the call of the current phase can first have been made. The key window starts here. Set in
     * `failed_retryable` if its absence is not proved, so that the next try is in doubt again.
     */
    phaseBeganAt: timestamptz('phase_began_at'),
    /** Whether the provider may keep a failure as the result of the current provider key. */
    failureStored: t.boolean('failure_stored').notNull().default(false),
    /** Whether it has replayed the failure. Without `failure_stored` it says nothing. */
    failureCertain: t.boolean('failure_certain').notNull().default(false),
    /** Distinguishes the provider keys of an operation; it advances when a stored failure did nothing. */
    keyGeneration: t.smallint('key_generation').notNull().default(0),
    lastError: t.text('last_error'),
    /** The job of the operation. The sweeper finds pending operations whose job is gone by it. */
    jobId: t.uuid('job_id'),
    /** When the outcome became unknown. The schedule of the outcome resolver starts here. */
    unknownAt: timestamptz('unknown_at'),
    /** When the outcome resolver looks next; null when no look is scheduled. */
    nextCheckAt: timestamptz('next_check_at'),
    checkedAt: timestamptz('checked_at'),
    /** What an operator stated about an unknown outcome. The outcome resolver verifies it. */
    evidence: t.jsonb('evidence').$type<Evidence>(),
    /** The tombstone of an expired key with the same name, when this operation is not its first. */
    earlier: t.jsonb('earlier').$type<TombstoneRow>(),
    /** What became of the client's request to cancel the key; null when there is none. */
    cancellation: textOf('cancellation', cancellationStatuses),
    /** The form of the stored response. Version 1, of older processes, states none. */
    responseVersion: t.smallint('response_version').notNull().default(1),
    responseStatus: t.smallint('response_status'),
    responseHeaders: t.jsonb('response_headers').$type<Record<string, string>>(),
    /** The exact bytes of the response, so that a replay is identical. */
    responseBody: t.text('response_body'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    expiresAt: timestamptz('expires_at').notNull(),
  }),
  (table) => [
    ...keyedByTenant(table),
    // This constraint, not a lookup before the insert, decides which request executes a key. So the
    // table is not partitioned: the constraint would have to contain the column of the partitions.
    unique('idempotency_keys_one_per_key').on(table.tenantId, table.key),
    // The key refers to its resource, not the reverse: deleting an old key changes no other table.
    refersTo('idempotency_keys_payment', [table.tenantId, table.paymentId], payments),
    refersTo('idempotency_keys_refund', [table.tenantId, table.refundId], refunds),
    refersTo('idempotency_keys_dispute', [table.tenantId, table.disputeId], disputes),
    check(
      'idempotency_keys_rules',
      sql`idempotency_keys_rules(
        key, operation, payment_id, status, recovery_point, lease_expires_at, in_doubt, unknown_at,
        next_check_at, checked_at, cancellation, finished_at, response_status, response_headers,
        response_body
      )`,
    ),
    // Partial indexes of a few rows out of ten million, for the sweeper, the outcome resolver and
    // the reaper.
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
    // The reaper would otherwise read many completed keys to find these few.
    index('idempotency_keys_given_up')
      .on(table.expiresAt)
      .where(sql`status = 'failed_retryable'`),
  ],
)

/**
 * One row, which counts how often stored responses were dropped. Copies of responses outside the
 * database are valid for one epoch.
 */
export const answerEpochs = pgTable(
  'answer_epochs',
  (t) => ({
    /** Always 1. */
    id: t.integer('id').primaryKey(),
    epoch: t.bigint('epoch', { mode: 'number' }).notNull(),
  }),
  () => [check('answer_epochs_one_row', sql`id = 1`)],
)

/** How often clients used a key again. A table of its own, so that a count does not rewrite the key. */
export const keyReplays = pgTable(
  'key_replays',
  (t) => ({
    tenantId: t.uuid('tenant_id').notNull(),
    operationId: t.uuid('operation_id').notNull(),
    /** Requests that got the stored response. */
    replays: t.bigint('replays', { mode: 'number' }).notNull(),
    /** Requests that came again before the operation had a response. */
    conflicts: t.bigint('conflicts', { mode: 'number' }).notNull(),
    /** Requests that were refused because they were other requests. */
    mismatches: t.bigint('mismatches', { mode: 'number' }).notNull(),
    firstAt: timestamptz('first_at').notNull(),
    lastAt: timestamptz('last_at').notNull(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.operationId] }),
    // The counts end with their key.
    refersTo('key_replays_key', [table.tenantId, table.operationId], idempotencyKeys).onDelete(
      'cascade',
    ),
    seenByItsTenant(),
  ],
)

/**
 * What an operator stated about an unknown outcome: the id of the created object, or that there is
 * none. The next lookup judges it, and it is dropped then.
 */
export interface Evidence {
  /** The entry of the audit trail with the statement. */
  readonly claim: string
  /** It did not happen. Not a proof by itself: the lookup decides. */
  readonly proved_absent?: true
  /** Two operators state that it did not happen, even if no lookup is possible. */
  readonly unverified?: true
  readonly provider_payment_id?: string
  readonly provider_refund_id?: string
  readonly by: string
  readonly note: string
}

/**
 * What remains of a deleted key: it names the resource that the key created, so that a late retry learns of
 * it and never charges silently. It is written in the transaction that deletes the key.
 */
export const keyTombstones = pgTable(
  'key_tombstones',
  (t) => ({
    tenantId: ofTenant(),
    /** SHA-256 of the key: 32 bytes for a key of any length. */
    keyHash: bytea('key_hash').notNull(),
    paymentId: t.uuid('payment_id'),
    refundId: t.uuid('refund_id'),
    /** The path of the resource of a local operation, which has no payment. */
    location: t.text('location'),
    expiredAt: timestamptz('expired_at').notNull(),
    deletedAt: timestamptz('deleted_at').notNull().defaultNow(),
  }),
  (table) => [
    primaryKey({ columns: [table.tenantId, table.keyHash] }),
    index('key_tombstones_oldest').on(table.deletedAt),
    check('key_tombstones_hash', sql`length(key_hash) = 32`),
    seenByItsTenant(),
  ],
)

/** A tombstone as JSON, as in the column `earlier` of a key. */
export type TombstoneRow = Omit<
  RowOf<typeof keyTombstones>,
  'tenant_id' | 'key_hash' | 'deleted_at'
>

/**
 * The timeline of every operation. One row for each try of a phase, with the request to the provider, its
 * answer, and the recovery point that was reached. Append-only; it outlives the idempotency key.
 */
export const phaseRuns = pgTable(
  'phase_runs',
  (t) => ({
    ...tenantAndId,
    paymentId: t.uuid('payment_id').notNull(),
    operationId: t.uuid('operation_id').notNull(),
    operation: t.text('operation').notNull(),
    /** The recovery point at which the phase started; null for the intent itself. */
    phase: t.text('phase'),
    /** The recovery point that the try reached; null when it did not advance. */
    reached: t.text('reached'),
    attempt: t.integer('attempt').notNull(),
    leaseEpoch: t.integer('lease_epoch').notNull(),
    outcome: t.text('outcome').$type<Outcome<unknown>['outcome']>(),
    asked: t.jsonb('asked').$type<Record<string, unknown>>(),
    answered: t.jsonb('answered').$type<Record<string, unknown>>(),
    startedAt: timestamptz('started_at').notNull(),
    /** When the call was answered, or given up; null for the intent. */
    endedAt: timestamptz('ended_at'),
    recordedAt: timestamptz('recorded_at').notNull().defaultNow(),
  }),
  (table) => [
    ...keyedByTenant(table),
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
  ],
)
