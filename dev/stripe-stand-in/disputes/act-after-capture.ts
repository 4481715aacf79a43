// Disputes a captured payment, or warns of it, as its test card says (https://docs.stripe.com/testing).
import type { PaymentIntent } from '../payment-intents/payment-intent.ts'
import { behaviorOf } from '../customers/saved-methods.ts'
import type { Records } from '../storage.ts'
import type { EventCause } from '../webhooks/event.ts'
import { warnOf } from './early-fraud-warnings.ts'
import { openDispute } from './move-dispute.ts'

/** The caller runs it in the transaction of the capture. */
export function actAfterCapture(
  records: Records,
  request: EventCause,
  intent: PaymentIntent,
): void {
  const method = behaviorOf(intent, records)
  // No request of ours caused it.
  const cause = { nowMs: request.nowMs, idempotencyKey: undefined }
  const { disputes = [], fraudWarning = false } = method ?? {}
  const amount = Math.ceil(intent.amount_received / Math.max(1, disputes.length))
  for (const terms of disputes) openDispute(records, cause, intent, { ...terms, amount })
  if (fraudWarning) warnOf(records, cause, intent)
}
