// Cancels an operation that has not called the provider yet, when its client wants out.
import { cancelIfNotBegun } from '../db/idempotency/cancellations.ts'
import { readOperation } from '../db/operations/operation-rows.ts'
import type { Transaction } from '../db/connection/client.ts'
import { inTenant } from '../db/connection/transaction.ts'
import type { KeyRetention } from '../domain/idempotency/retention.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { problemResponse } from '../domain/operations/stored-response.ts'
import type { StoreAndOperations } from './reopen-operation.ts'
import { operationNamed, type EngineSettings } from './engine.ts'

export interface CancelParts extends StoreAndOperations {
  readonly settings: Pick<EngineSettings, 'IDEMPOTENCY_FLAVOR'> & KeyRetention
}

/**
 * Returns whether the operation is canceled now: no call of it can have run, and none ever will. Its
 * resource is marked in the same transaction, and its final answer is `operation-canceled`.
 */
export async function cancelOperation(parts: CancelParts, ref: OperationRef): Promise<boolean> {
  const { settings } = parts
  const response = problemResponse(settings.IDEMPOTENCY_FLAVOR, 'operation-canceled')
  const answer = { response, retention: settings }
  return await inTenant(parts.store.sql, ref.tenantId, async (tx) => {
    if (await cancelIfNotBegun(tx, ref, 'pending', answer)) {
      await markCanceled(tx, parts, ref)
      return true
    }
    // The resource of an operation that failed is marked already.
    return await cancelIfNotBegun(tx, ref, 'failed_retryable', answer)
  })
}

async function markCanceled(
  tx: Transaction,
  parts: Pick<StoreAndOperations, 'operations'>,
  ref: OperationRef,
): Promise<void> {
  const row = await readOperation(tx, ref)
  if (row === undefined) throw new Error(`operation ${ref.id} has lost its payment`)
  const operation = operationNamed(parts, row.operation)
  await operation.markCanceled({ tx, key: row.key }, operation.subject(row))
}
