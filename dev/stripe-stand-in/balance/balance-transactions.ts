// Stores the movements of captures, and those that a test adds.
import { behaviorOf } from '../customers/saved-methods.ts'
import { movementOfCapture, newMovement, releaseOf, type Movement } from './balance-transaction.ts'
import type { EventCause } from '../webhooks/event.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import type { Records, Storage } from '../storage.ts'

/**
 * Adds the captured amount to the balance as Stripe does: all that was authorized, and what the
 * capture released as a refund. The caller runs it in the transaction of the capture.
 */
export function saveCapture(
  intent: PaymentIntent,
  { objects, events }: Pick<Records, 'objects' | 'events'>,
  cause: EventCause,
): void {
  const created = Math.floor(cause.nowMs / 1000)
  const isAtOnce = behaviorOf(intent, { objects })?.bypassesPending === true
  objects.save(movementOfCapture(intent, created, isAtOnce))
  if (intent.amount_received === intent.amount) return
  const { refund, movement } = releaseOf(intent, created, isAtOnce)
  objects.save(refund)
  objects.save(movement)
  events.append(cause, 'refund.created', refund)
}

/** Adds any movement, for tests: Stripe has many types that no endpoint of the stand-in causes. */
export function addMovement(storage: Storage, movement: Movement, nowMs: number): object {
  return storage.transaction(() => {
    const added = newMovement(movement, Math.floor(nowMs / 1000))
    storage.objects.save(added)
    return added
  })
}
