// The holder's part in 3-D Secure, which at Stripe a page plays and here a control route: what became
// of the authentication that an intent waits for.
import { saveCapture } from './balance-transactions.ts'
import { eventTypeOf } from './event.ts'
import { authenticateIntent, type PaymentIntent } from './payment-intent.ts'
import type { Storage } from './storage.ts'
import { noSuchObject, refusedByState } from './stripe-errors.ts'

export const authenticationOutcomes = ['succeed', 'fail'] as const
export type AuthenticationOutcome = (typeof authenticationOutcomes)[number]

/**
 * Ends the authentication of an intent, as one transaction. One that succeeds authorises the amount,
 * and so is an entry of the executed log, like a confirmation.
 *
 * @throws StripeError when there is no such intent, or it does not wait for its holder.
 */
export function authenticatePaymentIntent(
  storage: Storage,
  id: string,
  outcome: AuthenticationOutcome,
  nowMs: number,
): PaymentIntent {
  const { objects, executed, events } = storage
  return storage.transaction(() => {
    const intent = objects.find('payment_intent', id)
    if (intent === undefined) throw noSuchObject('payment_intent', id, 'intent')
    if (intent.status !== 'requires_action') {
      const message = `This PaymentIntent waits for no authentication: it is ${intent.status}.`
      throw refusedByState(message, { code: 'payment_intent_unexpected_state' })
    }
    const authenticated = authenticateIntent(intent, outcome)
    const cause = { nowMs, idempotencyKey: undefined }
    objects.save(authenticated)
    if (authenticated.status === 'succeeded') saveCapture(authenticated, storage, nowMs)
    if (outcome === 'succeed') {
      const { amount, currency, metadata } = authenticated
      executed.append(cause, { kind: 'payment_intent.confirm', id, amount, currency, metadata })
    }
    const type = eventTypeOf(authenticated)
    if (type !== undefined) events.append(cause, type, authenticated)
    return authenticated
  })
}
