// Ends the 3-D Secure authentication of a PaymentIntent. At Stripe the cardholder does this on a
// page; here a control route does it.
import { saveCapture } from '../balance/balance-transactions.ts'
import { eventTypeOf } from '../webhooks/event.ts'
import { captureBeforeOf } from './holds.ts'
import { authenticateIntent, type PaymentIntent } from './payment-intent.ts'
import { behaviorOf } from '../customers/saved-methods.ts'
import type { Storage } from '../storage.ts'
import { refusedByState } from '../requests/stripe-errors.ts'

export const authenticationOutcomes = ['succeed', 'fail'] as const
export type AuthenticationOutcome = (typeof authenticationOutcomes)[number]

/**
 * Ends the authentication in one transaction. A success authorises the amount, unless the bank
 * declines. The executed log therefore gets an entry, as for a confirmation.
 *
 * @throws StripeError when the intent does not exist or waits for no authentication.
 */
export function authenticatePaymentIntent(
  storage: Storage,
  id: string,
  outcome: AuthenticationOutcome,
  nowMs: number,
): PaymentIntent {
  return storage.change(id, (records) => {
    const { objects, executed, events, holds } = records
    const intent = objects.get('payment_intent', id)
    if (intent.status !== 'requires_action') {
      const message = `This PaymentIntent does not wait for authentication: it is ${intent.status}.`
      throw refusedByState(message, { code: 'payment_intent_unexpected_state' })
    }
    const method = behaviorOf(intent, records)
    const authenticated = authenticateIntent(intent, method, outcome)
    const cause = { nowMs }
    objects.save(authenticated)
    if (authenticated.status === 'succeeded') saveCapture(authenticated, records, cause)
    if (authenticated.last_payment_error === null) {
      executed.append(cause, 'payment_intent.confirm', authenticated, authenticated.amount)
    }
    if (authenticated.status === 'requires_capture') {
      holds.set(id, captureBeforeOf(method?.id ?? '', false, nowMs))
    }
    const type = eventTypeOf(authenticated)
    if (type !== undefined) events.append(cause, type, authenticated)
    return authenticated
  })
}
