// Batches claims: requests that arrive together share one statement. A worker fetches its jobs in
// batches.
import type { OperationRef } from '../../domain/operations/operation.ts'
import { createBatches, type BatchLimits } from '../connection/batches.ts'
import type { Sql } from '../connection/client.ts'
import { claimEachIfUnowned, type Claim, type LeaseRequest } from './leases.ts'

/** See `claimEachIfUnowned`. */
export type ClaimOperation = (ref: OperationRef, leaseMs: number) => Promise<Claim | undefined>

export function batchClaims(sql: Sql, limits?: BatchLimits): ClaimOperation {
  const claim = createBatches(
    (requests: readonly LeaseRequest[]) => claimEachIfUnowned(sql, requests),
    { limits },
  )
  return (ref, leaseMs) => claim({ ref, leaseMs })
}
