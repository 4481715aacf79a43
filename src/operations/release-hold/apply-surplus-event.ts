// Applies an event about a payment of the provider that names ours, while ours uses another one, or none:
// if it holds money that our payment will never use, `hold.release` releases it.
import { findIdempotencyKey } from '../../db/idempotency/idempotency-keys.ts'
import type { StoredProviderEvent } from '../../db/events/provider-events.ts'
import { selectPaymentWithSurplus } from '../../db/payments/payments.ts'
import { keyOfRelease } from '../../domain/events/provider-event.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import { isSurplusHold } from '../../domain/payments/standing.ts'
import type { Engine } from '../../engine/engine.ts'
import { pursue, reserve, type EventResult } from '../operations-of-events.ts'
import { releaseHold, type ReleaseParameters } from './phases.ts'

/** @throws the errors of the provider's connection. */
export async function applySurplusEvent(
  engine: Engine,
  event: StoredProviderEvent & { readonly providerPaymentId: string },
  payment: Payment,
): Promise<EventResult> {
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
  const resource = selectPaymentWithSurplus(providerPaymentId)
  return await reserve(engine, { ...releasing, tenantId, paymentId, refundId: null }, resource)
}
