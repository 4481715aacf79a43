// Appends the tries of atomic phases to the timeline, and reads it.
import { randomUUIDv7 } from 'node:crypto'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { Store, Transaction } from '../connection/client.ts'
import { rowsOf, type NewRow } from '../connection/rows.ts'
import { asTenant } from '../connection/transaction.ts'
import type { idempotencyKeys } from '../schema/idempotency-keys.ts'
import type { RowOf } from '../schema/row-of.ts'

/** One try of a phase, from the engine. */
export interface PhaseRun {
  /** The recovery point at which the try started. */
  readonly phase: string
  /** The recovery point that the try reached; null when it did not advance. */
  readonly reached: string | null
  /** The outcome of the provider call; undefined in a local phase. */
  readonly outcome: Outcome<unknown> | undefined
  readonly startedAt: Date
  /** When the call was answered, or given up. A phase without a call ends as it starts. */
  readonly endedAt?: Date
}

/** The operation that owns the timeline, and the lease under which the tries were made. */
export interface PhaseRunOwner {
  readonly tenantId: string
  readonly id: string
  readonly paymentId: string
  readonly operation: string
  readonly attempt: number
  readonly leaseEpoch: number
}

/** Writes the first line of the timeline of each operation that an intent began. */
export async function insertStarted(
  tx: Transaction,
  operations: readonly StartedRow[],
): Promise<void> {
  const rows = operations.map((operation) => ({
    tenant_id: operation.tenant_id,
    id: randomUUIDv7(),
    payment_id: operation.payment_id,
    operation_id: operation.id,
    operation: operation.operation,
    reached: operation.recovery_point,
    attempt: operation.attempts,
    lease_epoch: 0,
    started_at: operation.created_at,
  }))
  await insertPhaseRuns(tx, rows)
}

/** The columns of an operation that its first line has. */
type StartedRow = Pick<
  RowOf<typeof idempotencyKeys>,
  'tenant_id' | 'id' | 'payment_id' | 'operation' | 'recovery_point' | 'attempts' | 'created_at'
>

/** Appends tries to the timeline of each owner, in the order in which they were made. */
export async function appendPhaseRuns(
  tx: Transaction,
  tries: readonly { readonly owner: PhaseRunOwner; readonly runs: readonly PhaseRun[] }[],
): Promise<void> {
  const rows = tries.flatMap(({ owner, runs }) =>
    runs.map((run) => ({
      tenant_id: owner.tenantId,
      id: randomUUIDv7(),
      payment_id: owner.paymentId,
      operation_id: owner.id,
      operation: owner.operation,
      phase: run.phase,
      reached: run.reached,
      attempt: owner.attempt,
      lease_epoch: owner.leaseEpoch,
      outcome: run.outcome?.outcome ?? null,
      asked: run.outcome?.asked ?? null,
      answered: run.outcome?.answered ?? null,
      started_at: run.startedAt.toISOString(),
      ended_at: (run.endedAt ?? run.startedAt).toISOString(),
    })),
  )
  await insertPhaseRuns(tx, rows)
}

async function insertPhaseRuns(tx: Transaction, rows: readonly NewRow[]): Promise<void> {
  if (rows.length > 0) await tx`insert into phase_runs ${rowsOf(tx, rows)}`
}

/** A line of a timeline. */
export interface PhaseRunRecord {
  readonly operationId: string
  readonly operation: string
  /** Null for the intent itself. */
  readonly phase: string | null
  readonly reached: string | null
  readonly attempt: number
  readonly leaseEpoch: number
  readonly outcome: Outcome<unknown>['outcome'] | null
  readonly asked: Readonly<Record<string, unknown>> | null
  readonly answered: Readonly<Record<string, unknown>> | null
  readonly startedAt: Date
  /** Null for the intent. */
  readonly endedAt: Date | null
  readonly recordedAt: Date
}

/** The timeline of a payment, oldest first: all of it, or the first entries. */
export async function listPhaseRuns(
  { sql }: Store,
  tenantId: string,
  paymentId: string,
  limit: number | null = null,
): Promise<PhaseRunRecord[]> {
  // Sorts by the database's clock first: several processes generate the ids, each with its own
  // clock.
  const rows = await asTenant(sql, tenantId)`
    select
      operation_id, operation, phase, reached, attempt, lease_epoch, outcome, asked, answered,
      started_at, ended_at, recorded_at
    from phase_runs
    where tenant_id = ${tenantId} and payment_id = ${paymentId}
    order by recorded_at, started_at, id
    limit ${limit}
  `
  return rows.map((row) => ({
    operationId: row['operation_id'],
    operation: row['operation'],
    phase: row['phase'],
    reached: row['reached'],
    attempt: row['attempt'],
    leaseEpoch: row['lease_epoch'],
    outcome: row['outcome'],
    asked: row['asked'],
    answered: row['answered'],
    startedAt: new Date(row['started_at']),
    endedAt: row['ended_at'] && new Date(row['ended_at']),
    recordedAt: new Date(row['recorded_at']),
  }))
}
