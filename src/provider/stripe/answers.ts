// Reads an intent in an answer of Stripe. What it proves about a call, the file of the call decides: an
// answer counts only if it confirms the request (the same object, amount, currency and status), and a
// refusal can prove that the call was executed before.
import Stripe from 'stripe'
import {
  cancellationReasons,
  type Cancellation,
  type CancellationReason,
  type Hold,
  type Payment,
} from '../../domain/payments/payment.ts'
import { fitTextOrNothing, isObjectId } from '../provider-text.ts'
import { isInstant, isJson } from '../json.ts'
import { UNEXPECTED_STATE } from './errors.ts'

export type Intent = Stripe.Response<Stripe.PaymentIntent>

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

export const MISMATCH = 'the answer does not match the request'

/** @see https://docs.stripe.com/api/payment_intents/object cancellation_reason */
export function cancellationOf({
  cancellation_reason: reason,
}: Stripe.PaymentIntent): Cancellation {
  const isKnown = (cancellationReasons as readonly unknown[]).includes(reason)
  return { reason: isKnown ? (reason as CancellationReason) : null }
}

/** The intent whose state made Stripe refuse; undefined when Stripe refused for another reason. */
export function refusedIntent(error: unknown) {
  const unexpected =
    error instanceof Stripe.errors.StripeInvalidRequestError && error.code === UNEXPECTED_STATE
  const intent = unexpected ? error.payment_intent : undefined
  return unexpected && intent !== undefined ? { error, intent } : undefined
}
