// Applies an event of the provider. The event is only a hint: the state of its payment, refund or
// dispute is looked up, and if it has changed, `payment.follow`, `refund.follow` or `dispute.follow`
// records the change. The event acts as the client of that operation: it waits for the result and
// retries. So lost, repeated, reordered and early events all lead to the same state.
import {
  findProviderEvent,
  closeProviderEventIfPending,
  type StoredProviderEvent,
} from '../db/events/provider-events.ts'
import { CANCELLATION, type ProviderEventRef } from '../domain/events/provider-event.ts'
import type { Engine } from '../engine/engine.ts'
import { applyCancellation } from './apply-cancellation.ts'
import { applyDisputeEvent, applyEarlyFraudWarning } from './follow-dispute/apply-dispute-event.ts'
import { applyPaymentEvent } from './follow-payment/apply-payment-event.ts'
import type { EventResult } from './operations-of-events.ts'

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
  const result = await applyBySubject(engine, event)
  if (result !== 'pending') await closeProviderEventIfPending(sql, ref, result)
  return result
}

async function applyBySubject(engine: Engine, event: StoredProviderEvent): Promise<EventResult> {
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
