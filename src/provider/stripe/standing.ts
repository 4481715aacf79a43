// Reads where a payment stands at Stripe from its intent. Reading executes nothing, so after any
// other answer, or none, it can be repeated.
import type Stripe from 'stripe'
import type { Done, NotExecuted } from '../../domain/operations/outcome.ts'
import type { Failure, Payment } from '../../domain/payments/payment.ts'
import type { Standing } from '../../domain/payments/standing.ts'
import type { CallDescription } from '../call-outcomes.ts'
import { fitTextOrNothing } from '../provider-text.ts'
import { cancellationOf, describeIntent, holdOf, isAbout } from './answers.ts'

/** The standing of the payment, if the intent is about this payment and in a possible state. */
export function confirmStanding(
  payment: Payment,
  intent: Stripe.Response<Stripe.PaymentIntent>,
  asked: CallDescription,
): Done<Standing> | NotExecuted {
  const answered = describeIntent(intent)
  const about = isAbout(payment, intent) && intent.id === payment.providerPaymentId
  const value = about ? standingOf(intent) : undefined
  if (value !== undefined) return { outcome: 'done', value, asked, answered }
  return { outcome: 'not_executed', reason: 'the answer is implausible', asked, answered }
}

/**
 * The standing of an intent; undefined in a state that no payment of ours can have. No member of
 * the intent is taken for granted.
 *
 * @see https://docs.stripe.com/payments/paymentintents/lifecycle
 */
export function standingOf(intent: Stripe.PaymentIntent): Standing | undefined {
  switch (intent.status) {
    case 'requires_action':
    case 'processing':
      return { status: 'undecided' }
    case 'requires_capture':
      return intent.amount_capturable === intent.amount
        ? { status: 'held', ...holdOf(intent) }
        : undefined
    case 'succeeded':
      return capturedStanding(intent)
    case 'canceled':
      return { status: 'canceled', ...cancellationOf(intent) }
    case 'requires_payment_method':
      return refusedStanding(intent)
    default:
      return undefined
  }
}

function capturedStanding({ amount, amount_received }: Stripe.PaymentIntent) {
  const possible =
    Number.isInteger(amount_received) && amount_received > 0 && amount_received <= amount
  return possible
    ? ({ status: 'captured', amountCapturedMinor: amount_received } as const)
    : undefined
}

/** Undefined without an error: then the intent was never confirmed, so we did not create it. */
function refusedStanding({ last_payment_error: error }: Stripe.PaymentIntent) {
  if (error === null || error === undefined) return undefined
  const failure: Failure = {
    code: fitTextOrNothing(error.code) ?? fitTextOrNothing(error.type) ?? 'declined',
    declineCode: fitTextOrNothing(error.decline_code) ?? null,
    message: fitTextOrNothing(error.message) ?? '',
  }
  return { status: 'refused', failure } as const
}
