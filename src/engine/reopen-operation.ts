// Reopens an operation that is proved to have done nothing, when its client retries or an operator
// resumes it.
import type { Store, Transaction } from '../db/connection/client.ts'
import { reopenIfFailed } from '../db/idempotency/idempotency-keys.ts'
import { readOperation } from '../db/operations/operation-rows.ts'
import { StaleResourceError } from '../db/payments/payments.ts'
import { isDuplicateReference } from '../db/connection/store-errors.ts'
import { inTenant } from '../db/connection/transaction.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { currentTraceparent } from '../tracing/spans.ts'
import { operationNamed, type Operations } from './engine.ts'

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
