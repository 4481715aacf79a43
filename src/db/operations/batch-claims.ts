// Claims that are asked for in one turn are made by one statement: a worker takes its jobs in batches.
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
  let gathered: PendingClaim[] = []
  const claimAll = async () => {
    const asked = gathered
    gathered = []
    try {
      const claims = await claimEachIfUnowned(sql, asked)
      asked.forEach(({ resolve }, index) => resolve(claims[index]))
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
  return (ref, leaseMs) =>
    new Promise((resolve, reject) => {
      gathered.push({ ref, leaseMs, resolve, reject })
      if (gathered.length === 1) queueMicrotask(() => void claimAll())
    })
}
