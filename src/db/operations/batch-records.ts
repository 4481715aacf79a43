// Batches the records of phases: those of a tenant that end together share one transaction. Tenants do
// not share one: one that waits for a lock of a tenant delays no other.
import type { Counts } from '../../domain/tenants/tenant-counts.ts'
import { createBatches, type BatchLimits } from '../connection/batches.ts'
import type { Sql } from '../connection/client.ts'
import { recordEach, type PhaseToRecord } from './record-phases.ts'

/** Whether the phase was recorded; false when its lease is lost. See `recordEach`. */
export type RecordPhase = (sql: Sql, phase: PhaseToRecord) => Promise<boolean>

/** @param running the operations whose phases may share a transaction; without it none is waited for. */
export function batchRecords(running?: Counts, limits?: BatchLimits): RecordPhase {
  interface Asked {
    readonly sql: Sql
    readonly phase: PhaseToRecord
  }
  const record = createBatches(
    async (batch: readonly Asked[]) => {
      const [first] = batch
      if (first === undefined) return []
      return await recordEach(
        first.sql,
        batch.map(({ phase }) => phase),
      )
    },
    {
      groupOf: ({ phase }) => phase.claim.tenantId,
      subjectOf: ({ phase }) => phase.claim.paymentId,
      siblings: ({ phase }) => running?.of(phase.claim.tenantId) ?? 0,
      limits,
    },
  )
  return (sql, phase) => record({ sql, phase })
}
