// Ends a hold that was not captured in time, as Stripe does by itself: the intent is canceled, and
// the money is released.
import { chargeOf } from './charge.ts'
import { cancelIntent, type PaymentIntent } from './payment-intent.ts'
import { unexpectedState } from './payment-intent-refusals.ts'
import type { Objects } from '../objects.ts'
import type { Storage } from '../storage.ts'

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
  return storage.change(id, (records) => {
    const { objects, executed, events, holds } = records
    const intent = findHeld(objects, id)
    const expired = cancelIntent(intent, reason, Math.floor(nowMs / 1000))
    objects.save(expired)
    holds.close(id)
    executed.append({ nowMs }, 'payment_intent.cancel', intent, intent.amount_capturable)
    events.append({ nowMs }, 'charge.expired', chargeOf(expired, records))
    events.append({ nowMs }, 'payment_intent.canceled', expired)
    return expired
  })
}

/**
 * Changes when the hold ends, as a longer authorization does.
 *
 * @throws StripeError when the intent does not exist or holds nothing.
 */
export function moveHold({ objects, holds }: Storage, id: string, captureBefore: number): void {
  holds.set(findHeld(objects, id).id, captureBefore)
}

function findHeld(objects: Objects, id: string): PaymentIntent {
  const intent = objects.get('payment_intent', id)
  if (intent.status === 'requires_capture') return intent
  throw unexpectedState(intent, `This PaymentIntent holds nothing: it is ${intent.status}.`)
}
