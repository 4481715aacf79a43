// Applies an event about a payment or one of its refunds. The payment is looked up at the provider, and
// if it has changed, `payment.follow` records that. A payment that waited too long for its cardholder
// is canceled.
import { inTenant, thenCommit } from '../../db/connection/transaction.ts'
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import type { Intent } from '../../db/idempotency/intent.ts'
import { findPayment, markProcessingIfIn, selectPaymentIfIn } from '../../db/payments/payments.ts'
import type { StoredProviderEvent } from '../../db/events/provider-events.ts'
import { requestCheckOfPayment } from '../../db/operations/requested-checks.ts'
import {
  isFinal,
  paymentStatuses,
  waitingStatuses,
  type WaitingStatus,
  type Payment,
} from '../../domain/payments/payment.ts'
import { hasMovedOn, isFollowed, isSurplusHold } from '../../domain/payments/provider-status.ts'
import {
  EXPIRY,
  isReminder,
  keyOfExpiry,
  keyOfProviderEvent,
  keyOfRelease,
} from '../../domain/events/provider-event.ts'
import type { Engine } from '../../engine/engine.ts'
import { cancelPayment, type CancelParameters } from '../cancel-payment/phases.ts'
import { pursue, reopen, reserve } from '../operations-of-events.ts'
import type { ProviderEventStatus } from '../../domain/events/provider-event.ts'
import { followPayment } from './phases.ts'
import { findRefundOfObject, lockRefundIfIn } from '../../db/payments/refunds.ts'
import {
  type Refund,
  type RefundStatus,
  followedRefundStatuses,
  refundHasMovedOn,
} from '../../domain/payments/refund.ts'
import { followRefund } from '../follow-refund/phases.ts'
import { releaseHold, type ReleaseParameters } from '../release-hold/phases.ts'

/** @throws the errors of the provider's connection. */
export async function applyPaymentEvent(
  engine: Engine,
  event: StoredProviderEvent,
): Promise<ProviderEventStatus> {
  const { providerPaymentId } = event
  if (providerPaymentId === null) return 'ignored'
  const found = await findSubject(engine, event)
  if (found === undefined) return 'unmatched'
  const { payment, isCheckRequested, started, refund } = found
  if (isCheckRequested) return 'pending'
  if (started !== undefined) {
    const result = await pursue(engine, started, payment)
    // The cardholder may have to authenticate again, for example with another card.
    if (result !== 'applied' || !isAwaited(event, payment)) return result
  }
  // Too early: the provider's id of the payment is not recorded yet.
  if (payment.providerPaymentId === null && !isFinal(payment.status)) return 'pending'
  if (payment.provider !== event.provider || payment.providerPaymentId !== providerPaymentId) {
    return await applySurplusEvent(engine, { ...event, providerPaymentId }, payment)
  }
  if (refund !== undefined) return await applyRefundEvent(engine, event, refund)
  if (isFinal(payment.status)) return 'ignored'
  // A worker or the outcome resolver owns the payment, and may have read it before this change.
  if (!isFollowed(payment.status)) return 'pending'
  return await follow(engine, event, payment)
}

/** An event that waits for a day makes less than 150 checks. */
const EVENT_CHECKS_MOST_SECONDS = 600

/**
 * Finds the payment of the event, the operation that it has started and the refund that it may be about.
 * Requests a check of the payment: the event may report the effect of an operation whose outcome is
 * unknown.
 */
async function findSubject({ store, settings }: Engine, event: StoredProviderEvent) {
  const { subject, objectId } = event
  if (subject === null) return undefined
  const { tenantId, paymentId } = subject
  const apart = { seconds: settings.CHECK_ON_READ_SECONDS, mostSeconds: EVENT_CHECKS_MOST_SECONDS }
  return await inTenant(store.sql, tenantId, async (tx) => {
    const [payment, isCheckRequested, started, refund] = await thenCommit(tx, [
      findPayment(tx, tenantId, paymentId),
      requestCheckOfPayment(tx, subject, apart),
      findIdempotencyKey(tx, tenantId, keyOfProviderEvent(event)),
      findRefundOfObject(tx, { tenantId, id: paymentId }, objectId),
    ])
    return payment && { payment, isCheckRequested, started, refund }
  })
}

async function follow(
  engine: Engine,
  event: StoredProviderEvent,
  payment: Payment,
): Promise<ProviderEventStatus> {
  const looked = await engine.providers.named(payment.provider).retrieve(payment)
  if (looked.outcome !== 'done') return 'pending'
  if (hasMovedOn(payment, looked.value)) {
    const key = keyOfProviderEvent(event)
    const following = { key, operation: followPayment.name, parameters: {} }
    return await begin(engine, payment, following, waitingStatuses)
  }
  if (!isAwaited(event, payment)) return 'ignored'
  const isExpired = isReminder(event) && event.ageSeconds >= engine.settings.ACTION_EXPIRES_SECONDS
  return isExpired ? await expire(engine, payment) : 'pending'
}

/**
 * Whether the event has to be applied again: it is the reminder of a payment that still waits for
 * its cardholder, or the provider has not released the hold yet.
 */
function isAwaited(event: StoredProviderEvent, { status }: Payment): boolean {
  if (event.type === EXPIRY) return status === 'requires_capture'
  return isReminder(event) && status === 'requires_action'
}

/**
 * Cancels a payment whose cardholder did not authenticate in time, as its client would. If the
 * cardholder is faster, and the provider refuses to cancel, the payment follows the provider.
 */
async function expire(engine: Engine, payment: Payment): Promise<ProviderEventStatus> {
  const key = keyOfExpiry(payment)
  const started = await findIdempotencyKey(engine.store.sql, payment.tenantId, key)
  if (started?.status === 'failed_retryable') return await reopen(engine, started, payment)
  // If the provider refused to cancel, the reminder looks again, and at last is a dead letter.
  if (started !== undefined) return 'pending'
  const parameters = { reason: 'abandoned', ends: 'requires_action' } satisfies CancelParameters
  const canceling = { key, operation: cancelPayment.name, parameters }
  return await begin(engine, payment, canceling, [parameters.ends])
}

/** Reserves an operation of the service itself, if the payment is in one of the statuses. */
async function begin(
  engine: Engine,
  { tenantId, id: paymentId }: Payment,
  begun: Pick<Intent, 'key' | 'operation' | 'parameters'>,
  statuses: readonly WaitingStatus[],
): Promise<ProviderEventStatus> {
  const resource = markProcessingIfIn(statuses)
  return await reserve(engine, { ...begun, tenantId, paymentId, refundId: null }, resource)
}

/**
 * Applies an event about a refund: it is looked up at the provider, and if it has changed, `refund.follow`
 * records that.
 *
 * @throws the errors of the provider's connection.
 */
async function applyRefundEvent(
  engine: Engine,
  event: StoredProviderEvent,
  refund: Refund,
): Promise<ProviderEventStatus> {
  const followed: readonly RefundStatus[] = followedRefundStatuses
  // Its operation works on it, and may have read it before this change.
  if (refund.status === 'processing' || refund.status === 'unknown') return 'pending'
  if (!followed.includes(refund.status)) return 'ignored'
  const looked = await engine.providers.named(event.provider).retrieveRefund(refund)
  if (looked.outcome !== 'done') return 'pending'
  if (!refundHasMovedOn(refund, looked.value)) return 'ignored'
  const { tenantId, id: refundId, paymentId } = refund
  const key = keyOfProviderEvent(event)
  const following = { key, operation: followRefund.name, parameters: {} }
  const resource = lockRefundIfIn(followedRefundStatuses)
  return await reserve(engine, { ...following, tenantId, paymentId, refundId }, resource)
}

/**
 * Applies an event about a payment of the provider that names ours, while ours uses another one, or none:
 * if it holds money that our payment will never use, `hold.release` releases it.
 *
 * @throws the errors of the provider's connection.
 */
async function applySurplusEvent(
  engine: Engine,
  event: StoredProviderEvent & { readonly providerPaymentId: string },
  payment: Payment,
): Promise<ProviderEventStatus> {
  const { sql } = engine.store
  const { tenantId, id: paymentId } = payment
  const { providerPaymentId } = event
  const key = keyOfRelease(providerPaymentId)
  const started = await findIdempotencyKey(sql, tenantId, key)
  if (started !== undefined) return await pursue(engine, started, payment)
  const provider = engine.providers.named(event.provider)
  const theirs = await provider.readPayment(providerPaymentId)
  if (theirs === undefined || !isSurplusHold(payment, theirs)) return 'unmatched'
  const { amountMinor } = theirs
  if (amountMinor !== payment.amountMinor) {
    // One answer may be wrong: another amount counts only if a second look shows it too.
    const again = await provider.readPayment(providerPaymentId)
    if (again?.amountMinor !== amountMinor) return 'pending'
  }
  const parameters = {
    provider: event.provider,
    providerPaymentId,
    amountMinor,
  } satisfies ReleaseParameters
  const releasing = { key, operation: releaseHold.name, parameters }
  // It uses another payment of the provider, or is final and uses none.
  const resource = selectPaymentIfIn(paymentStatuses, (now) =>
    now.providerPaymentId === null
      ? isFinal(now.status)
      : now.providerPaymentId !== providerPaymentId,
  )
  return await reserve(engine, { ...releasing, tenantId, paymentId, refundId: null }, resource)
}
