// Decides what an answer of Stripe proves. An answer counts only if it confirms the request: the
// same object, amount, currency and status. A refusal can prove that the call was executed before.
import Stripe from 'stripe'
import type { Outcome } from '../../domain/operations/outcome.ts'
import {
  cancellationReasons,
  type Cancellation,
  type CancellationReason,
  type Hold,
  type Payment,
} from '../../domain/payments/payment.ts'
import type { Authorization, Capture } from '../payment-provider.ts'
import { fitTextOrNothing, isObjectId } from '../provider-text.ts'
import { isInstant, isJson } from '../json.ts'
import { type CallDescription, unknown } from '../call-outcomes.ts'
import { classifyStripeError, declined, describeStripeError, UNEXPECTED_STATE } from './errors.ts'

type Intent = Stripe.Response<Stripe.PaymentIntent>

export function describeIntent(intent: Intent): Record<string, unknown> {
  return {
    status: intent.lastResponse?.statusCode,
    request_id: fitTextOrNothing(intent.lastResponse?.requestId),
    payment_id: fitTextOrNothing(intent.id),
    payment_status: fitTextOrNothing(intent.status),
    amount: typeof intent.amount === 'number' ? intent.amount : undefined,
    capture_before: holdOf(intent).captureBefore?.toISOString(),
  }
}

/** The charge of an intent says until when it can be captured. It is only an id unless expanded. */
export const WITH_CHARGE = { expand: ['latest_charge'] }

/** @see https://docs.stripe.com/api/charges/object payment_method_details.card.capture_before */
export function holdOf({ latest_charge: charge }: Stripe.PaymentIntent): Hold {
  const details: unknown = isJson(charge) ? charge['payment_method_details'] : undefined
  const card: unknown = isJson(details) ? details['card'] : undefined
  const seconds: unknown = isJson(card) ? card['capture_before'] : undefined
  return { captureBefore: isInstant(seconds) ? new Date(seconds * 1_000) : null }
}

/**
 * Whether an answer is about this payment at all. The stripe package treats any JSON as a success.
 */
export function isAbout(payment: Payment, intent: Stripe.PaymentIntent): boolean {
  return (
    isObjectId(intent.id) &&
    intent.object === 'payment_intent' &&
    intent.amount === payment.amountMinor &&
    intent.currency === payment.currency
  )
}

export function confirmAuthorization(
  payment: Payment,
  intent: Intent,
  asked: CallDescription,
): Outcome<Authorization> {
  const answered = describeIntent(intent)
  if (isAbout(payment, intent)) {
    const { id: providerPaymentId, status, client_secret: clientSecret } = intent
    if (status === 'requires_capture' && intent.amount_capturable === payment.amountMinor) {
      const value = { status: 'held', providerPaymentId, ...holdOf(intent) } as const
      return { outcome: 'done', value, asked, answered }
    }
    if (status === 'requires_action' && isClientSecret(clientSecret)) {
      const value = { status: 'requires_action', providerPaymentId, clientSecret } as const
      return { outcome: 'done', value, asked, answered }
    }
  }
  return unknown(asked, answered, MISMATCH)
}

function isClientSecret(value: unknown): value is string {
  return typeof value === 'string' && /^\w{8,500}$/.test(value)
}

export const MISMATCH = 'the answer does not match the request'

export function confirmCapture(
  payment: Payment,
  amountMinor: number,
  intent: Stripe.PaymentIntent,
  answered: Record<string, unknown>,
  asked: CallDescription,
): Outcome<Capture> {
  const captured = intent.status === 'succeeded' && intent.amount_received === amountMinor
  if (!isAbout(payment, intent) || intent.id !== payment.providerPaymentId || !captured) {
    return unknown(asked, answered, MISMATCH)
  }
  return { outcome: 'done', value: { amountCapturedMinor: amountMinor }, asked, answered }
}

/**
 * Stripe refuses to capture a payment that is not waiting for it. If the reason is that it was
 * already captured (by an earlier try whose key Stripe has forgotten), the refusal proves that the
 * capture is done.
 */
export function explainRefusedCapture(
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
  return confirmCapture(payment, amountMinor, intent, answered, asked)
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
  return { ...unknown(asked, outcome.answered, outcome.failure.message), keptFailure: 'certain' }
}

/** Stripe answers an adjustment with the intent as it is now: the new amount is held. */
export function confirmAdjustment(
  payment: Payment,
  amountMinor: number,
  intent: Intent,
  asked: CallDescription,
): Outcome<Hold> {
  const answered = describeIntent(intent)
  const adjusted = { ...payment, amountMinor }
  const isHeld =
    isAbout(adjusted, intent) &&
    intent.id === payment.providerPaymentId &&
    intent.status === 'requires_capture' &&
    intent.amount_capturable === amountMinor
  return isHeld
    ? { outcome: 'done', value: holdOf(intent), asked, answered }
    : unknown(asked, answered, MISMATCH)
}

/** An intent that was canceled or captured meanwhile holds nothing that could be adjusted. */
export function explainRefusedAdjustment(
  payment: Payment,
  error: unknown,
  asked: CallDescription,
): Outcome<Hold> {
  const refused = refusedIntent(error)
  if (refused === undefined) return classifyStripeError(error, asked)
  const { intent } = refused
  const answered = describeStripeError(refused.error)
  if (intent.id !== payment.providerPaymentId) return unknown(asked, answered, MISMATCH)
  const refusal = declined(refused.error, asked, answered)
  if (intent.status === 'canceled') return { ...refusal, canceled: cancellationOf(intent) }
  return intent.status === 'succeeded' ? refusal : unknown(asked, answered, MISMATCH)
}

export function confirmCancel(
  payment: Payment,
  intent: Stripe.PaymentIntent,
  answered: Record<string, unknown>,
  asked: CallDescription,
): Outcome<Cancellation> {
  const canceled = intent.status === 'canceled' && intent.id === payment.providerPaymentId
  if (!canceled) return unknown(asked, answered, MISMATCH)
  return { outcome: 'done', value: cancellationOf(intent), asked, answered }
}

/** @see https://docs.stripe.com/api/payment_intents/object cancellation_reason */
export function cancellationOf({
  cancellation_reason: reason,
}: Stripe.PaymentIntent): Cancellation {
  const isKnown = (cancellationReasons as readonly unknown[]).includes(reason)
  return { reason: isKnown ? (reason as CancellationReason) : null }
}

/**
 * Stripe refuses to cancel a payment that is already canceled, which proves that the cancellation
 * is done. It also refuses to cancel a captured payment, which proves that the payment is not
 * canceled.
 */
export function explainRefusedCancel(
  payment: Payment,
  error: unknown,
  asked: CallDescription,
): Outcome<Cancellation> {
  const refused = refusedIntent(error)
  if (refused === undefined) return classifyStripeError(error, asked)
  const answered = describeStripeError(refused.error)
  const { status, id } = refused.intent
  // Captured outside of this service: it was not canceled, and never will be.
  const captured = status === 'succeeded' && id === payment.providerPaymentId
  if (captured) return declined(refused.error, asked, answered)
  return confirmCancel(payment, refused.intent, answered, asked)
}

/** The intent whose state made Stripe refuse; undefined when Stripe refused for another reason. */
function refusedIntent(error: unknown) {
  const unexpected =
    error instanceof Stripe.errors.StripeInvalidRequestError && error.code === UNEXPECTED_STATE
  const intent = unexpected ? error.payment_intent : undefined
  return unexpected && intent !== undefined ? { error, intent } : undefined
}
