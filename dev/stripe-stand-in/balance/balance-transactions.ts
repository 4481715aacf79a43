// Stores the movements of captures.
import { behaviorOf } from '../customers/saved-methods.ts'
import { movementOfCapture, releaseOf } from './balance-transaction.ts'
import type { EventCause } from '../webhooks/event.ts'
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import type { Records } from '../storage.ts'

/**
 * Adds the captured amount to the balance as Stripe does: all that was authorized, and what the
 * capture released as a refund. The caller runs it in the transaction of the capture.
 */
export function saveCapture(
  intent: PaymentIntent,
  { objects, events }: Records,
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
