// Captures the held money of a payment, or a part of it, and releases the rest.
import type Stripe from 'stripe'
import type { Outcome } from '../../../domain/operations/outcome.ts'
import type { Payment } from '../../../domain/payments/payment.ts'
import {
  confirmed,
  explainNotShown,
  type CallDescription,
  providerPaymentIdOf,
  unknown,
} from '../../call-outcomes.ts'
import type { Capture } from '../../calls.ts'
import {
  cancellationOf,
  describeIntent,
  isAbout,
  MISMATCH,
  refusedIntent,
  providerStatusOf,
} from '../answers.ts'
import { classifyStripeError, declined, describeStripeError, UNEXPECTED_STATE } from '../errors.ts'
import { lookAtIntent, send, statusOf, type StripeCall } from './call.ts'

export const capture: StripeCall<'capture'> = {
  writes: 'payment_intents',
  async execute(connection, { payment, amountMinor = payment.amountMinor }, identity) {
    const id = providerPaymentIdOf(payment)
    const about = { payment_id: id, amount: amountMinor }
    const { paymentIntents } = connection.stripe
    return await send(connection, identity, CAPTURE, about, async (asked, options) => {
      try {
        const parameters = { amount_to_capture: amountMinor }
        const intent = await paymentIntents.capture(id, parameters, options)
        return confirm(payment, amountMinor, intent, describeIntent(intent), asked)
      } catch (error) {
        return explainRefusal(payment, amountMinor, error, asked)
      }
    })
  },
  async find(connection, { payment, amountMinor = payment.amountMinor }) {
    return await lookAtIntent(connection, payment, (intent, asked, answered) => {
      const captured = confirm(payment, amountMinor, intent, answered, asked)
      if (captured.outcome === 'done') return captured
      const providerStatus = providerStatusOf(intent)
      const isOther = providerStatus?.status === 'captured'
      return explainNotShown(payment, providerStatus, asked, answered, {
        held: 'it is still held',
        canceled: {
          code: UNEXPECTED_STATE,
          declineCode: null,
          message: 'The payment was canceled at the provider and cannot be captured.',
        },
        other: `the payment is ${isOther ? 'captured with another amount' : statusOf(intent)}`,
      })
    })
  },
}

const CAPTURE = 'payment_intents.capture'

function confirm(
  payment: Payment,
  amountMinor: number,
  intent: Stripe.PaymentIntent,
  answered: CallDescription,
  asked: CallDescription,
): Outcome<Capture> {
  const isCaptured =
    isAbout(payment, intent) &&
    intent.id === payment.providerPaymentId &&
    intent.status === 'succeeded' &&
    intent.amount_received === amountMinor
  const value = isCaptured ? { amountCapturedMinor: amountMinor } : undefined
  return confirmed(value, asked, answered, MISMATCH)
}

/**
 * Stripe refuses to capture a payment that is not waiting for it. If the reason is that it was
 * already captured (by an earlier try whose key Stripe has forgotten), the refusal proves that the
 * capture is done.
 */
function explainRefusal(
  payment: Payment,
  amountMinor: number,
  error: unknown,
  asked: CallDescription,
): Outcome<Capture> {
  const refused = refusedIntent(error)
  if (refused === undefined) return explainRefusedHold(error, asked)
  const answered = describeStripeError(refused.error)
  const { intent } = refused
  if (intent.status === 'canceled' && intent.id === payment.providerPaymentId) {
    return { ...declined(refused.error, asked, answered), canceled: cancellationOf(intent) }
  }
  return confirm(payment, amountMinor, intent, answered, asked)
}

/** The codes that say that the authorization is over: nothing is held any more. */
const HOLD_EXPIRED = new Set(['charge_expired_for_capture', 'capture_charge_authorization_expired'])

const ALREADY_CAPTURED = 'charge_already_captured'

/**
 * A capture that Stripe refused for another reason than the state of the intent. With every code
 * that is not listed here the money may still be held.
 *
 * @see https://docs.stripe.com/error-codes
 */
function explainRefusedHold(error: unknown, asked: CallDescription): Outcome<Capture> {
  const outcome = classifyStripeError(error, asked)
  if (outcome.outcome !== 'declined') return outcome
  const { code } = outcome.failure
  if (HOLD_EXPIRED.has(code)) return { ...outcome, canceled: { reason: 'expired' } }
  if (code !== ALREADY_CAPTURED) return outcome
  // By an earlier try of this very call, or by another client. Stripe keeps the refusal.
  return { ...unknown(asked, outcome.answered, outcome.failure.message), storedFailure: 'certain' }
}
