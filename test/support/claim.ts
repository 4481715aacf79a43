// Claims one operation for a test. The service claims operations in batches.
import type { Sql } from '../../src/db/connection/client.ts'
import { claimEachIfUnowned, type Claim } from '../../src/db/operations/leases.ts'
import type { OperationRef } from '../../src/domain/operations/operation.ts'

export async function claimIfUnowned(
  sql: Sql,
  ref: OperationRef,
  leaseMs: number,
): Promise<Claim | undefined> {
  const [claim] = await claimEachIfUnowned(sql, [ref], leaseMs)
  return claim
}
