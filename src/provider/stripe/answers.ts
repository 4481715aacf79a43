// Reads intents and refunds in answers of Stripe, and where a payment or refund stands. What an answer
// proves about a call, the file of the call decides: it counts only if it confirms the request (the same
// object, amount, currency and status), and a refusal can prove that the call was executed before.
import Stripe from 'stripe'
import {
  cancellationReasons,
  type Cancellation,
  type CancellationReason,
  type Hold,
  type Payment,
  type Failure,
} from '../../domain/payments/payment.ts'
import { fitTextOrNothing, isObjectId, isTimestamp, isJson, namedId } from '../provider-text.ts'
import { UNEXPECTED_STATE } from './errors.ts'
import type { Done, NotExecuted, Unknown } from '../../domain/operations/outcome.ts'
import type { ProviderStatus } from '../../domain/payments/provider-status.ts'
import { type CallDescription, confirmed } from '../call-outcomes.ts'
import type { Refund, RefundProviderStatus } from '../../domain/payments/refund.ts'

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
  return { captureBefore: isTimestamp(seconds) ? new Date(seconds * 1_000) : null }
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

/** The provider status of the payment, if the intent is about this payment and in a possible state. */
export function confirmProviderStatus(
  payment: Payment,
  intent: Stripe.Response<Stripe.PaymentIntent>,
  asked: CallDescription,
): Done<ProviderStatus> | NotExecuted {
  const answered = describeIntent(intent)
  const about = isAbout(payment, intent) && intent.id === payment.providerPaymentId
  const value = about ? providerStatusOf(intent) : undefined
  if (value !== undefined) return { outcome: 'done', value, asked, answered }
  return { outcome: 'not_executed', reason: 'the answer is implausible', asked, answered }
}

/**
 * The provider status of an intent; undefined in a state that no payment of ours can have. No member of
 * the intent is taken for granted.
 *
 * @see https://docs.stripe.com/payments/paymentintents/lifecycle
 */
export function providerStatusOf(intent: Stripe.PaymentIntent): ProviderStatus | undefined {
  switch (intent.status) {
    case 'requires_action':
    case 'processing':
      return { status: 'undecided' }
    case 'requires_capture':
      return intent.amount_capturable === intent.amount
        ? { status: 'held', ...holdOf(intent) }
        : undefined
    case 'succeeded':
      return capturedProviderStatus(intent)
    case 'canceled':
      return { status: 'canceled', ...cancellationOf(intent) }
    case 'requires_payment_method':
      return refusedProviderStatus(intent)
    default:
      return undefined
  }
}

function capturedProviderStatus({ amount, amount_received }: Stripe.PaymentIntent) {
  const possible =
    Number.isInteger(amount_received) && amount_received > 0 && amount_received <= amount
  return possible
    ? ({ status: 'captured', amountCapturedMinor: amount_received } as const)
    : undefined
}

/** Undefined without an error: then the intent was never confirmed, so we did not create it. */
function refusedProviderStatus({ last_payment_error: error }: Stripe.PaymentIntent) {
  if (error === null || error === undefined) return undefined
  const failure: Failure = {
    code: fitTextOrNothing(error.code) ?? fitTextOrNothing(error.type) ?? 'declined',
    declineCode: fitTextOrNothing(error.decline_code) ?? null,
    message: fitTextOrNothing(error.message) ?? '',
  }
  return { status: 'refused', failure } as const
}

/** The provider status of a refund, if the answer is about this refund and in a possible state. */
export function confirmRefund(
  refund: Refund,
  answer: Stripe.Response<Stripe.Refund>,
  asked: CallDescription,
): Done<RefundProviderStatus> | Unknown {
  const answered = {
    status: answer.lastResponse?.statusCode,
    request_id: fitTextOrNothing(answer.lastResponse?.requestId),
    refund_id: fitTextOrNothing(answer.id),
    refund_status: fitTextOrNothing(answer.status),
    amount: typeof answer.amount === 'number' ? answer.amount : undefined,
  }
  const isAboutIt =
    answer.object === 'refund' &&
    isObjectId(answer.id) &&
    answer.amount === refund.amountMinor &&
    answer.currency === refund.currency
  return confirmed(
    isAboutIt ? refundProviderStatusOf(answer) : undefined,
    asked,
    answered,
    MISMATCH,
  )
}

/**
 * The provider status of a refund; undefined in a state that no refund of ours can have. Its money has left
 * the balance when it has a movement there, and at the latest when it succeeded.
 *
 * @see https://docs.stripe.com/api/refunds/object
 */
export function refundProviderStatusOf(refund: Stripe.Refund): RefundProviderStatus | undefined {
  const { id: providerRefundId, status, balance_transaction: movement } = refund
  const moved = namedId(movement) !== null
  switch (status) {
    case 'succeeded':
      return { providerRefundId, status, moved: true }
    case 'pending':
    case 'requires_action':
    case 'canceled':
      return { providerRefundId, status, moved }
    case 'failed':
      return { providerRefundId, status, failure: failureOf(refund), moved }
    default:
      return undefined
  }
}

/** @see https://docs.stripe.com/refunds#failed-refunds */
function failureOf({ failure_reason: reason }: Stripe.Refund): Failure {
  return {
    code: fitTextOrNothing(reason) ?? 'unknown',
    declineCode: null,
    message: 'The refund has failed. Its money is on the balance again.',
  }
}
