// Ends a hold that was not captured in time, as Stripe does by itself: the intent is canceled, and
// the money is released.
import { chargeOf } from './charge.ts'
import { cancelIntent, type PaymentIntent } from './payment-intent.ts'
import { unexpectedState } from './payment-intent-refusals.ts'
import type { Storage } from '../storage.ts'
import { noSuchObject } from '../requests/stripe-errors.ts'

/** Stripe's documentation does not say which of the two an expired hold has. */
export const expiryReasons = ['automatic', 'expired'] as const
export type ExpiryReason = (typeof expiryReasons)[number]

/**
 * How long after its end a hold is still `requires_capture`. Stripe does not say how soon it
 * cancels; until then it refuses the capture with a code of its own.
 */
const CANCELS_AFTER_SECONDS = 60

/** Expires the holds that are due. */
export function expireDueHolds(storage: Storage, nowMs: number): void {
  for (const id of storage.holds.ended(Math.floor(nowMs / 1000) - CANCELS_AFTER_SECONDS)) {
    const intent = storage.objects.find('payment_intent', id)
    if (intent?.status === 'requires_capture') expireHold(storage, id, 'automatic', nowMs)
    storage.holds.close(id)
  }
}

/**
 * Expires the hold in one transaction, whenever it would end.
 *
 * @throws StripeError when the intent does not exist or holds nothing.
 */
export function expireHold(
  storage: Storage,
  id: string,
  reason: ExpiryReason,
  nowMs: number,
): PaymentIntent {
  return storage.transaction(() => {
    const objects = storage.objects.besides(id)
    const intent = findHeld(storage, id)
    const expired = cancelIntent(intent, reason, Math.floor(nowMs / 1000))
    const cause = { nowMs, idempotencyKey: undefined }
    const { amount_capturable: amount, currency, metadata } = intent
    objects.save(expired)
    storage.holds.close(id)
    storage.executed.append(cause, {
      kind: 'payment_intent.cancel',
      id,
      amount,
      currency,
      metadata,
    })
    storage.events.append(cause, {
      type: 'charge.expired',
      data: { object: chargeOf(expired, { ...storage, objects }) },
    })
    storage.events.append(cause, { type: 'payment_intent.canceled', data: { object: expired } })
    return expired
  })
}

/**
 * Changes when the hold ends, as a longer authorization does.
 *
 * @throws StripeError when the intent does not exist or holds nothing.
 */
export function moveHold(storage: Storage, id: string, captureBefore: number): void {
  storage.holds.set(findHeld(storage, id).id, captureBefore)
}

function findHeld({ objects }: Storage, id: string): PaymentIntent {
  const intent = objects.find('payment_intent', id)
  if (intent === undefined) throw noSuchObject('payment_intent', id, 'intent')
  if (intent.status === 'requires_capture') return intent
  throw unexpectedState(intent, `This PaymentIntent holds nothing: it is ${intent.status}.`)
}
