// Applies an event of the provider. The event is only a hint: the state of its payment, refund or
// dispute is looked up, and if it has changed, `payment.follow`, `refund.follow` or `dispute.follow`
// records the change. The event acts as the client of that operation: it waits for the result and
// retries. So lost, repeated, reordered and early events all lead to the same state.
import {
  findProviderEvent,
  closeProviderEventIfPending,
  type StoredProviderEvent,
} from '../db/events/provider-events.ts'
import {
  CANCELLATION,
  type ProviderEventRef,
  keyOfCancellation,
} from '../domain/events/provider-event.ts'
import type { Engine } from '../engine/engine.ts'
import { applyDisputeEvent, applyEarlyFraudWarning } from './follow-dispute/apply-dispute-event.ts'
import { applyPaymentEvent } from './follow-payment/apply-payment-event.ts'
import { pursue, reserve } from './operations-of-events.ts'
import type { ProviderEventStatus } from '../domain/events/provider-event.ts'
import { randomUUIDv7 } from 'node:crypto'
import {
  endCancellation,
  findCancellation,
  type CanceledOperation,
} from '../db/idempotency/cancellations.ts'
import { findIdempotencyKey, type IdempotencyKey } from '../db/idempotency/idempotency-keys.ts'
import { isDisputed } from '../db/payments/disputes.ts'
import { findPayment, markProcessingIfIn } from '../db/payments/payments.ts'
import { findRefund, findUnreturned, insertRefunds } from '../db/payments/refunds.ts'
import {
  undoableOperations,
  type CancellationStatus,
} from '../domain/idempotency/idempotency-key.ts'
import type { OperationRef } from '../domain/operations/operation.ts'
import { type Payment, waitingStatuses } from '../domain/payments/payment.ts'
import { followedRefundStatuses } from '../domain/payments/refund.ts'
import { cancelOperation } from '../engine/reopen-or-cancel.ts'
import { cancelPayment, type CancelParameters } from './cancel-payment/phases.ts'
import { createRefund } from './create-refund/phases.ts'

/**
 * Applies a stored event as far as possible. Repeated and concurrent calls are harmless.
 *
 * Returns `pending` while another operation works on the payment, while the provider cannot be
 * reached, and while the operation that the event started is not completed.
 */
export async function applyProviderEvent(
  engine: Engine,
  ref: ProviderEventRef,
): Promise<ProviderEventStatus> {
  const { sql } = engine.store
  const event = await findProviderEvent(sql, ref)
  if (event === undefined) throw new Error(`there is no event ${ref.id}`)
  if (event.status !== 'pending') return event.status
  const result = await applyBySubject(engine, event)
  if (result !== 'pending') await closeProviderEventIfPending(sql, ref, result)
  return result
}

async function applyBySubject(
  engine: Engine,
  event: StoredProviderEvent,
): Promise<ProviderEventStatus> {
  if (event.type === CANCELLATION) return await applyCancellation(engine, event)
  switch (event.about) {
    case 'payment':
      return await applyPaymentEvent(engine, event)
    case 'dispute':
      return await applyDisputeEvent(engine, event)
    case 'early_fraud_warning':
      return await applyEarlyFraudWarning(engine, event)
  }
}

// Undoes the operation of a key that its client canceled: ends a payment that is not captured, and
// refunds one that is. It waits while the operation is under way, because only its end tells which.

/** How the cancellation ended; `pending` while it has not. */
type Undone = Exclude<CancellationStatus, 'in_progress'> | 'pending'

/** Repeated and concurrent calls are harmless: each thing that it starts has one key. */
async function applyCancellation(
  engine: Engine,
  { subject, objectId }: StoredProviderEvent,
): Promise<ProviderEventStatus> {
  if (subject === null) return 'unmatched'
  const { sql } = engine.store
  const { tenantId } = subject
  const ref = { tenantId, id: objectId }
  const canceled = await findCancellation(sql, ref)
  const payment = await findPayment(sql, tenantId, subject.paymentId)
  if (canceled === undefined || payment === undefined) return 'ignored'
  const result = await undo(engine, ref, canceled, payment)
  if (result === 'pending') return 'pending'
  await endCancellation(sql, ref, result)
  engine.log.info({ operation: ref.id, cancellation: result }, 'canceled by its client')
  return 'applied'
}

async function undo(
  engine: Engine,
  ref: OperationRef,
  canceled: CanceledOperation,
  payment: Payment,
): Promise<Undone> {
  const { operation, status, responseStatus } = canceled
  if (await cancelOperation(engine, ref)) return 'prevented'
  const isUndoable = undoableOperations.some((name) => name === operation)
  // It stopped half-way: its money may be held.
  const isStopped = status === 'failed_retryable' && isUndoable
  if (responseStatus === null && !isStopped) return 'pending'
  const hasSucceeded = responseStatus !== null && responseStatus < 300
  if (!isUndoable) return hasSucceeded ? 'refused' : 'nothing_to_undo'
  // The payment was there before. If it is captured, another operation captured it.
  if (operation === 'payment.capture' && !hasSucceeded) return 'nothing_to_undo'
  return await undoPayment(engine, ref, payment)
}

async function undoPayment(engine: Engine, ref: OperationRef, payment: Payment): Promise<Undone> {
  switch (payment.status) {
    case 'requires_action':
    case 'requires_capture':
      return await cancelHold(engine, ref, payment)
    case 'succeeded':
      return await refundRest(engine, ref, payment)
    case 'canceled':
      return 'undone'
    case 'declined':
    case 'failed':
      return 'nothing_to_undo'
    // Another operation works on the payment, or its outcome is unknown.
    case 'processing':
    case 'unknown':
      return 'pending'
  }
}

/** If the provider refuses, the payment moves on, and is refunded then. */
async function cancelHold(
  engine: Engine,
  ref: OperationRef,
  payment: Payment,
  attempt = 1,
): Promise<Undone> {
  const { sql } = engine.store
  const { tenantId, id: paymentId } = payment
  const key = keyOfCancellation('cancel', ref.id, attempt)
  const started = await findIdempotencyKey(sql, tenantId, key)
  if (started !== undefined) {
    await pursue(engine, started, payment)
    return isGivenUp(started) ? await cancelHold(engine, ref, payment, attempt + 1) : 'pending'
  }
  const parameters = { reason: 'abandoned' } satisfies CancelParameters
  const canceling = { key, operation: cancelPayment.name, parameters, tenantId, paymentId }
  const resource = markProcessingIfIn(waitingStatuses)
  await reserve(engine, { ...canceling, refundId: null }, resource)
  return 'pending'
}

/** Waits for every refund that the provider has not accepted: it may leave its amount unreturned. */
async function refundRest(engine: Engine, ref: OperationRef, payment: Payment): Promise<Undone> {
  const { sql } = engine.store
  const { leftMinor, isRefunding } = await findUnreturned(sql, payment)
  if (isRefunding) return 'pending'
  if (leftMinor === 0) return 'undone'
  // The bank has taken the money back.
  if (await isDisputed(sql, payment)) return 'refused'
  return await refundLeft(engine, ref, payment, 1)
}

/** Begins a refund of what is left. There is another one only if the earlier ones cannot return that. */
async function refundLeft(
  engine: Engine,
  ref: OperationRef,
  payment: Payment,
  attempt: number,
): Promise<Undone> {
  const { sql } = engine.store
  const { tenantId, id: paymentId } = payment
  const key = keyOfCancellation('refund', ref.id, attempt)
  const started = await findIdempotencyKey(sql, tenantId, key)
  if (started !== undefined) {
    const result = await pursue(engine, started, payment)
    if (result === 'pending') return 'pending'
    // Ignored: less is left than its amount. Accepted: another refund has failed since.
    const isOver = result === 'ignored' || isGivenUp(started) || (await isAccepted(engine, started))
    return isOver ? await refundLeft(engine, ref, payment, attempt + 1) : 'refused'
  }
  const rest = {
    amountMinor: null,
    reason: 'requested_by_customer',
    reference: null,
    metadata: {},
  } as const
  const refunding = { key, operation: createRefund.name, parameters: {}, tenantId, paymentId }
  const refund = { ...refunding, refundId: randomUUIDv7(), details: { ...rest } }
  await reserve(engine, refund, insertRefunds, 'refund.created')
  return 'pending'
}

/** The reaper has completed it, because nothing retried it for the whole retention. */
function isGivenUp({ response }: IdempotencyKey): boolean {
  return response?.status === 408
}

async function isAccepted(
  { store }: Engine,
  { tenantId, refundId }: IdempotencyKey,
): Promise<boolean> {
  const refund = refundId === null ? undefined : await findRefund(store.sql, tenantId, refundId)
  return followedRefundStatuses.some((status) => status === refund?.status)
}
