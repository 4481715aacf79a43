// Batches claims: requests that arrive together share one transaction. A worker fetches its jobs in
// batches.
import type { OperationRef } from '../../domain/operations/operation.ts'
import { createBatches, type BatchLimits } from '../connection/batches.ts'
import type { Sql } from '../connection/client.ts'
import { claimEachIfUnowned, type Claim } from './leases.ts'

/** See `claimEachIfUnowned`. */
export type ClaimOperation = (ref: OperationRef, leaseMs: number) => Promise<Claim | undefined>

export function batchClaims(sql: Sql, limits?: BatchLimits): ClaimOperation {
  interface Asked {
    readonly ref: OperationRef
    readonly leaseMs: number
  }
  const claim = createBatches(
    async (asked: readonly Asked[]) => {
      const refs = asked.map(({ ref }) => ref)
      return await claimEachIfUnowned(sql, refs, asked[0]?.leaseMs ?? 0)
    },
    { groupOf: ({ leaseMs }) => String(leaseMs), limits },
  )
  return (ref, leaseMs) => claim({ ref, leaseMs })
}
