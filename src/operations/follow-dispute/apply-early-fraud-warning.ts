// Applies an early fraud warning: the bank of the cardholder suspects that the payment is fraud. It moves
// no money, so all that happens is the event `payment.early_fraud_warning`, once for each warning.
import {
  announceEarlyFraudWarning,
  type StoredProviderEvent,
} from '../../db/events/provider-events.ts'
import { EARLY_FRAUD_WARNING } from '../../domain/events/event-types.ts'
import type { Engine } from '../../engine/engine.ts'
import type { EventResult } from '../operations-of-events.ts'
import { findPaymentOf } from './apply-dispute-event.ts'

/** @throws the errors of the provider's connection. */
export async function applyEarlyFraudWarning(
  engine: Engine,
  event: StoredProviderEvent,
): Promise<EventResult> {
  const warning = await engine.providers.named(event.provider).readEarlyFraudWarning(event.objectId)
  const payment = warning && (await findPaymentOf(engine, event.provider, warning))
  if (payment === undefined) return 'unmatched'
  const isNew = await announceEarlyFraudWarning(engine.store.sql, payment, event)
  if (isNew) engine.observe.insertedEvents(EARLY_FRAUD_WARNING, 1)
  return isNew ? 'applied' : 'ignored'
}
