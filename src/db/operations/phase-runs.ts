// Appends the tries of atomic phases to the timeline, and reads it.
import { randomUUIDv7 } from 'node:crypto'
import type { Outcome } from '../../domain/operations/outcome.ts'
import type { Store, Transaction } from '../connection/client.ts'
import { objectOf, rowsOf, type NewRow, type ObjectOf, type RowOf } from '../connection/rows.ts'
import { asTenant } from '../connection/transaction.ts'
import type { KeyRow } from '../idempotency/idempotency-keys.ts'
import type { phaseRuns } from '../schema/idempotency-keys.ts'
import type { OperationRow } from './operation-rows.ts'

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
type PhaseRunOwner = Pick<
  OperationRow,
  'tenantId' | 'id' | 'paymentId' | 'operation' | 'attempt' | 'leaseEpoch'
>

/** Writes the first line of the timeline of each operation that an intent began. */
export async function insertStarted(
  tx: Transaction,
  operations: readonly StartedRow[],
): Promise<void> {
  const rows = operations.map((operation) => ({
    tenantId: operation.tenant_id,
    paymentId: operation.payment_id,
    operationId: operation.id,
    operation: operation.operation,
    reached: operation.recovery_point,
    attempt: operation.attempts,
    leaseEpoch: 0,
    startedAt: operation.created_at,
  }))
  await insertPhaseRuns(tx, rows)
}

type StartedRow = Pick<
  KeyRow,
  'tenant_id' | 'id' | 'payment_id' | 'operation' | 'recovery_point' | 'attempts' | 'created_at'
>

/** Appends tries to the timeline of each owner, in the order in which they were made. */
export async function appendPhaseRuns(
  tx: Transaction,
  made: readonly { readonly owner: PhaseRunOwner; readonly tries: readonly PhaseRun[] }[],
): Promise<void> {
  const rows = made.flatMap(({ owner, tries }) => {
    const { tenantId, id: operationId, paymentId, operation, attempt, leaseEpoch } = owner
    const ofOwner = { tenantId, operationId, paymentId, operation, attempt, leaseEpoch }
    return tries.map(({ phase, reached, outcome, startedAt, endedAt = startedAt }) => ({
      ...ofOwner,
      phase,
      reached,
      outcome: outcome?.outcome,
      asked: outcome?.asked,
      answered: outcome?.answered,
      startedAt,
      endedAt,
    }))
  })
  await insertPhaseRuns(tx, rows)
}

async function insertPhaseRuns(tx: Transaction, rows: readonly NewRow[]): Promise<void> {
  if (rows.length === 0) return
  // Those of one millisecond are in no order, and their tries may have begun in one.
  const ids = rows.map(() => randomUUIDv7()).toSorted()
  const lines = rows.map((row, index) => ({ id: ids[index], ...row }))
  await tx`insert into phase_runs ${rowsOf(tx, lines)}`
}

type PhaseRunRow = RowOf<typeof phaseRuns>
/** A line of a timeline. */
export type PhaseRunRecord = ObjectOf<PhaseRunRow>

/** The timeline of a payment, oldest first: all of it, or the first entries. */
export async function listPhaseRuns(
  { sql }: Store,
  tenantId: string,
  paymentId: string,
  limit: number | null = null,
): Promise<PhaseRunRecord[]> {
  // Sorts by the database's clock first: several processes generate the ids, each with its own clock.
  const rows = await asTenant(sql, tenantId)<PhaseRunRow[]>`
    select * from phase_runs
    where tenant_id = ${tenantId} and payment_id = ${paymentId}
    order by recorded_at, started_at, id
    limit ${limit}
  `
  return rows.map(objectOf)
}
