// Appends the tries of atomic phases to the timeline, and reads it.
import { randomUUIDv7 } from 'node:crypto'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { Fragment, Sql, Store, Transaction } from '../connection/client.ts'
import { idOfEach } from '../connection/ids.ts'
import { withoutFence } from './fence.ts'
import { seesTenant } from '../connection/row-security.ts'

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

/**
 * A part of the intent statement: the first line of the timeline of each operation in `reserved`.
 */
export function insertStarted(sql: Sql): Fragment {
  return sql`
    insert into phase_runs (
      tenant_id, id, payment_id, operation_id, operation, reached, attempt, lease_epoch, started_at
    )
    select
      tenant_id, ${idOfEach(sql)}, payment_id, id, operation, recovery_point, attempts, lease_epoch,
      now()
    from reserved
  `
}

/** Appends tries to the owner's timeline, in the order in which they were made. */
export async function appendPhaseRuns(
  tx: Transaction,
  owner: PhaseRunOwner,
  runs: readonly PhaseRun[],
): Promise<void> {
  await tx`
    with ${withoutFence(tx, owner.id)}
    ${insertPhaseRunsIfOwner(tx, [{ owner, runs }])}
    where ${seesTenant(tx, owner.tenantId)}
  `
}

/** A part of a statement: appends the tries of each owner that is in the CTE `fenced`. */
export function insertPhaseRunsIfOwner(
  sql: Sql | Transaction,
  tries: readonly { readonly owner: PhaseRunOwner; readonly runs: readonly PhaseRun[] }[],
): Fragment {
  const rows = tries.flatMap(({ owner, runs }) =>
    runs.map((run) => ({
      owner_id: owner.id,
      tenant_id: owner.tenantId,
      id: randomUUIDv7(),
      payment_id: owner.paymentId,
      operation: owner.operation,
      phase: run.phase,
      reached: run.reached,
      attempt: owner.attempt,
      lease_epoch: owner.leaseEpoch,
      outcome: run.outcome?.outcome,
      asked: run.outcome?.asked,
      answered: run.outcome?.answered,
      started_at: run.startedAt.toISOString(),
      ended_at: (run.endedAt ?? run.startedAt).toISOString(),
    })),
  )
  return sql`
    insert into phase_runs (
      tenant_id, id, payment_id, operation_id, operation, phase, reached, attempt, lease_epoch,
      outcome, asked, answered, started_at, ended_at
    )
    select
      run.tenant_id, run.id, run.payment_id, run.owner_id, run.operation, run.phase, run.reached,
      run.attempt, run.lease_epoch, run.outcome, run.asked, run.answered, run.started_at,
      run.ended_at
    from fenced
    join jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as run (
      owner_id uuid, tenant_id uuid, id uuid, payment_id uuid, operation text, phase text,
      reached text, attempt integer, lease_epoch integer, outcome text, asked jsonb, answered jsonb,
      started_at timestamptz, ended_at timestamptz
    ) on run.owner_id = fenced.id
  `
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
  const rows = await sql`
    select
      operation_id, operation, phase, reached, attempt, lease_epoch, outcome, asked, answered,
      started_at, ended_at, recorded_at
    from phase_runs
    where ${seesTenant(sql, tenantId)} and tenant_id = ${tenantId} and payment_id = ${paymentId}
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
