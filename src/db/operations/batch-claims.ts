// Batches claims: one statement makes all claims that are requested in one event-loop turn. A
// worker fetches its jobs in batches.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql } from '../connection/client.ts'
import { claimEachIfUnowned, type Claim, type LeaseRequest } from './leases.ts'

/** See `claimEachIfUnowned`. */
export type ClaimOperation = (ref: OperationRef, leaseMs: number) => Promise<Claim | undefined>

interface PendingClaim extends LeaseRequest {
  readonly resolve: (claim: Claim | undefined) => void
  readonly reject: (error: unknown) => void
}

export function batchClaims(sql: Sql): ClaimOperation {
  let pending: PendingClaim[] = []
  const claimAll = async () => {
    const batch = pending
    pending = []
    try {
      const claims = await claimEachIfUnowned(sql, batch)
      batch.forEach(({ resolve }, index) => resolve(claims[index]))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (ref, leaseMs) =>
    new Promise((resolve, reject) => {
      pending.push({ ref, leaseMs, resolve, reject })
      if (pending.length === 1) queueMicrotask(() => void claimAll())
    })
}
