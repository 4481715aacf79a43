// Applies an event about a refund: the refund is looked up at the provider, and if it has changed,
// `refund.follow` records that.
import type { StoredProviderEvent } from '../../db/events/provider-events.ts'
import { lockRefundIfIn } from '../../db/payments/refunds.ts'
import { keyOfProviderEvent } from '../../domain/events/provider-event.ts'
import { followedRefundStatuses, refundHasMovedOn } from '../../domain/payments/refund-standing.ts'
import type { Refund, RefundStatus } from '../../domain/payments/refund.ts'
import type { Engine } from '../../engine/engine.ts'
import { reserve, type EventResult } from '../operations-of-events.ts'
import { followRefund } from './phases.ts'

/** @throws the errors of the provider's connection. */
export async function applyRefundEvent(
  engine: Engine,
  event: StoredProviderEvent,
  refund: Refund,
): Promise<EventResult> {
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
