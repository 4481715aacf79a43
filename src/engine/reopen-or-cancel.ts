// Reopens an operation that is proved to have done nothing, when its client retries or an operator
// resumes it. Cancels one that has not called the provider yet, when its client wants it undone.
import type { Store, Transaction } from '../db/connection/client.ts'
import { reopenIfFailed } from '../db/idempotency/idempotency-keys.ts'
import { readOperation } from '../db/operations/operation-rows.ts'
import { StaleResourceError } from '../db/payments/payments.ts'
import { isDuplicateReference } from '../db/connection/store-errors.ts'
import { inTenant } from '../db/connection/transaction.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { currentTraceparent } from '../tracing/spans.ts'
import { operationNamed, type Operations, type EngineSettings } from './engine.ts'
import { cancelIfNotBegun } from '../db/idempotency/cancellations.ts'
import type { KeyRetention } from '../domain/idempotency/idempotency-key.ts'
import { problemResponse } from '../domain/operations/stored-response.ts'

/** The parts of the engine, or of the API, that reopening needs. */
export interface StoreAndOperations {
  readonly store: Pick<Store, 'sql'>
  readonly operations: Operations
}

/**
 * Returns whether this retry reopened the operation. Of several concurrent retries, exactly one
 * does.
 *
 * @throws StaleResourceError when its resource has changed since, so it is too late; also when another
 *   payment or refund uses its reference meanwhile.
 */
export async function reopenOperation(
  parts: StoreAndOperations,
  ref: OperationRef,
): Promise<boolean> {
  return await inTenant(parts.store.sql, ref.tenantId, (tx) => reopenOperationIn(tx, parts, ref))
}

/** Like `reopenOperation`, inside the caller's transaction, which must end when this throws. */
export async function reopenOperationIn(
  tx: Transaction,
  parts: Pick<StoreAndOperations, 'operations'>,
  ref: OperationRef,
): Promise<boolean> {
  if (!(await reopenIfFailed(tx, ref, currentTraceparent()))) return false
  const row = await readOperation(tx, ref)
  if (row === undefined) throw new Error(`operation ${ref.id} has lost its payment`)
  const operation = operationNamed(parts, row.operation)
  const marking = { tx, key: row.key }
  try {
    await operation.markReopened(marking, operation.subject(row))
  } catch (error) {
    if (!isDuplicateReference(error)) throw error
    throw new StaleResourceError(`operation ${ref.id}`, 'the one with its reference')
  }
  return true
}

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
