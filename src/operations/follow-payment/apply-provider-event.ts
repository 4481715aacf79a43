// Applies an event of the provider. The event is only a hint: the state of its payment or refund is
// looked up, and if it has changed, `payment.follow` or `refund.follow` records the change. The event
// acts as the client of that operation: it waits for the result and retries. So lost, repeated,
// reordered and early events all lead to the same state.
import { hash, randomUUIDv7 } from 'node:crypto'
import {
  findIdempotencyKey,
  IntentRefusedError,
  reserveIntent,
  type Intent,
} from '../../db/idempotency/idempotency-keys.ts'
import type { IdempotencyKey } from '../../db/idempotency/idempotency-key-rows.ts'
import type { Fragment } from '../../db/connection/client.ts'
import { lockRefundIfIn } from '../../db/payments/refunds.ts'
import { findPayment, markProcessingIfIn } from '../../db/payments/payments.ts'
import { StaleResourceError } from '../../db/payments/payment-changes.ts'
import {
  findProviderEvent,
  findRefundOfObject,
  closeProviderEventIfPending,
  type StoredProviderEvent,
} from '../../db/events/provider-events.ts'
import { requestCheckOfPayment } from '../../db/operations/unknown-outcomes.ts'
import {
  isFinal,
  waitingStatuses,
  type WaitingStatus,
} from '../../domain/payments/payment-status.ts'
import type { CancelReason, Payment } from '../../domain/payments/payment.ts'
import type { Refund, RefundStatus } from '../../domain/payments/refund.ts'
import { followedRefundStatuses, refundHasMovedOn } from '../../domain/payments/refund-standing.ts'
import { hasMovedOn, isFollowed } from '../../domain/payments/standing.ts'
import {
  isReminder,
  keyOfExpiry,
  keyOfProviderEvent,
  type ProviderEventRef,
  type ProviderEventStatus,
} from '../../domain/events/provider-event.ts'
import type { Engine } from '../../engine/engine.ts'
import { cancelPayment } from '../cancel-payment/phases.ts'
import { followRefund } from '../follow-refund/phases.ts'
import { followPayment } from './phases.ts'
import { reopenOperation } from '../../engine/reopen-operation.ts'

/** The status of an event. A `pending` event must be applied again later. */
export type EventResult = ProviderEventStatus

/**
 * Applies a stored event as far as possible. Repeated and concurrent calls are harmless.
 *
 * Returns `pending` while another operation works on the payment, while the provider cannot be
 * reached, and while the operation that the event started is not completed.
 */
export async function applyProviderEvent(
  engine: Engine,
  ref: ProviderEventRef,
): Promise<EventResult> {
  const { sql } = engine.store
  const event = await findProviderEvent(sql, ref)
  if (event === undefined) throw new Error(`there is no event ${ref.id}`)
  if (event.status !== 'pending') return event.status
  const result = await judge(engine, event)
  if (result !== 'pending') await closeProviderEventIfPending(sql, ref, result)
  return result
}

async function judge(engine: Engine, event: StoredProviderEvent): Promise<EventResult> {
  if (event.providerPaymentId === null) return 'ignored'
  const payment = await findSubject(engine, event)
  if (payment === undefined) return 'unmatched'
  if (await requestCheck(engine, payment)) return 'pending'
  const key = keyOfProviderEvent(event)
  const started = await findIdempotencyKey(engine.store.sql, payment.tenantId, key)
  if (started !== undefined) {
    const result = await pursue(engine, started, payment)
    // The cardholder may have to authenticate again, for example with another card.
    if (result !== 'applied' || !isAwaited(event, payment)) return result
  }
  // Too early: the provider's id of the payment is not recorded yet.
  if (payment.providerPaymentId === null && !isFinal(payment.status)) return 'pending'
  if (payment.providerPaymentId !== event.providerPaymentId) return 'unmatched'
  const refund = await findRefundOfObject(engine.store.sql, payment, event.objectId)
  if (refund !== undefined) return await followRefundOf(engine, event, refund)
  if (isFinal(payment.status)) return 'ignored'
  // A worker or the outcome resolver owns the payment, and may have read it before this change.
  if (!isFollowed(payment.status)) return 'pending'
  return await follow(engine, event, payment)
}

async function findSubject(
  { store }: Engine,
  { subject }: StoredProviderEvent,
): Promise<Payment | undefined> {
  return subject === null
    ? undefined
    : await findPayment(store.sql, subject.tenantId, subject.paymentId)
}

/** The event may report the effect of an operation whose outcome is unknown. */
async function requestCheck(
  { store, settings }: Engine,
  { tenantId, id: paymentId }: Payment,
): Promise<boolean> {
  const { CHECK_ON_READ_SECONDS } = settings
  return await requestCheckOfPayment(store.sql, { tenantId, paymentId }, CHECK_ON_READ_SECONDS)
}

async function follow(
  engine: Engine,
  event: StoredProviderEvent,
  payment: Payment,
): Promise<EventResult> {
  const looked = await engine.provider.retrieve(payment)
  if (looked.outcome !== 'done') return 'pending'
  if (hasMovedOn(payment, looked.value)) {
    const key = keyOfProviderEvent(event)
    const following = { key, operation: followPayment.name, parameters: {} }
    return await begin(engine, payment, following, waitingStatuses)
  }
  if (!isAwaited(event, payment)) return 'ignored'
  const isExpired = event.ageSeconds >= engine.settings.ACTION_EXPIRES_SECONDS
  return isExpired ? await expire(engine, payment) : 'pending'
}

/** Whether the event is the reminder of a payment that still waits for its cardholder. */
function isAwaited(event: StoredProviderEvent, { status }: Payment): boolean {
  return isReminder(event) && status === 'requires_action'
}

/**
 * Cancels a payment whose cardholder did not authenticate in time, as its client would. If the
 * cardholder is faster, and the provider refuses to cancel, the payment follows the provider.
 */
async function expire(engine: Engine, payment: Payment): Promise<EventResult> {
  const key = keyOfExpiry(payment)
  const started = await findIdempotencyKey(engine.store.sql, payment.tenantId, key)
  if (started?.status === 'failed_retryable') return await reopen(engine, started, payment)
  // If the provider refused to cancel, the reminder looks again, and at last is a dead letter.
  if (started !== undefined) return 'pending'
  const parameters = { reason: 'abandoned' satisfies CancelReason }
  const canceling = { key, operation: cancelPayment.name, parameters }
  return await begin(engine, payment, canceling, ['requires_action'])
}

async function followRefundOf(
  engine: Engine,
  event: StoredProviderEvent,
  refund: Refund,
): Promise<EventResult> {
  const followed: readonly RefundStatus[] = followedRefundStatuses
  // Its operation works on it, and may have read it before this change.
  if (refund.status === 'processing' || refund.status === 'unknown') return 'pending'
  if (!followed.includes(refund.status)) return 'ignored'
  const looked = await engine.provider.retrieveRefund(refund)
  if (looked.outcome !== 'done') return 'pending'
  if (!refundHasMovedOn(refund, looked.value)) return 'ignored'
  const { tenantId, id: refundId, paymentId } = refund
  const key = keyOfProviderEvent(event)
  const following = { key, operation: followRefund.name, parameters: {} }
  const resource = lockRefundIfIn(engine.store.sql, followedRefundStatuses)
  return await reserve(engine, { ...following, tenantId, paymentId, refundId }, resource)
}

/** Reserves an operation of the service itself, if the payment is in one of the statuses. */
async function begin(
  engine: Engine,
  { tenantId, id: paymentId }: Payment,
  begun: Pick<Intent, 'key' | 'operation' | 'parameters'>,
  statuses: readonly WaitingStatus[],
): Promise<EventResult> {
  const resource = markProcessingIfIn(engine.store.sql, statuses)
  return await reserve(engine, { ...begun, tenantId, paymentId, refundId: null }, resource)
}

/** Reserves the operation; a later look at the event waits for it. */
async function reserve(
  { store, settings }: Engine,
  begun: Omit<Intent, 'id' | 'fingerprint' | 'retentionSeconds'>,
  resource: Fragment,
): Promise<EventResult> {
  const intent: Intent = {
    ...begun,
    id: randomUUIDv7(),
    fingerprint: hash('sha256', begun.key, 'buffer'),
    retentionSeconds: settings.KEY_RETENTION_SECONDS,
  }
  try {
    await reserveIntent(store.sql, intent, resource)
  } catch (error) {
    // Another operation was faster. Once it is completed, the status decides.
    if (!(error instanceof IntentRefusedError)) throw error
  }
  return 'pending'
}

/** Waits for the operation that this event started, and retries it as a client would. */
async function pursue(
  engine: Engine,
  operation: IdempotencyKey,
  payment: Payment,
): Promise<EventResult> {
  switch (operation.status) {
    case 'completed':
      return 'applied'
    case 'failed_retryable':
      return await reopen(engine, operation, payment)
    case 'pending':
    case 'processing':
    // The outcome resolver owns it until it has one of the other statuses.
    case 'unknown':
      return 'pending'
  }
}

async function reopen(
  engine: Engine,
  operation: IdempotencyKey,
  payment: Payment,
): Promise<EventResult> {
  try {
    await reopenOperation(engine, operation)
    return 'pending'
  } catch (error) {
    if (!(error instanceof StaleResourceError)) throw error
    // Another operation works on the payment, or has ended it. In that case this one is obsolete.
    return isFinal(payment.status) ? 'ignored' : 'pending'
  }
}
