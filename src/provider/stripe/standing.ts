// Where a payment stands at Stripe, read from its intent. Looking executes nothing: whatever else an
// answer is, or its absence, the payment can be looked at again.
import type Stripe from 'stripe'
import type { Done, NotExecuted, Outcome } from '../../domain/operations/outcome.ts'
import type { Failure, Payment } from '../../domain/payments/payment.ts'
import type { Standing } from '../../domain/payments/standing.ts'
import { fitTextOrNothing } from '../provider-text.ts'
import { describeIntent, isAbout } from './answers.ts'
import type { CallDescription } from './errors.ts'

/** What the intent says of the payment, if it is about the payment and says what can be. */
export function confirmStanding(
  payment: Payment,
  intent: Stripe.Response<Stripe.PaymentIntent>,
  asked: CallDescription,
): Done<Standing> | NotExecuted {
  const answered = describeIntent(intent)
  const about = isAbout(payment, intent) && intent.id === payment.providerPaymentId
  const value = about ? standingOf(intent) : undefined
  if (value !== undefined) return { outcome: 'done', value, asked, answered }
  return { outcome: 'not_executed', reason: 'the answer makes no sense', asked, answered }
}

/**
 * Undefined in a state that no payment of ours can be in. Takes no member of the intent for granted.
 *
 * @see https://docs.stripe.com/payments/paymentintents/lifecycle
 */
export function standingOf(intent: Stripe.PaymentIntent): Standing | undefined {
  switch (intent.status) {
    case 'requires_action':
    case 'processing':
      return { status: 'undecided' }
    case 'requires_capture':
      return intent.amount_capturable === intent.amount ? { status: 'held' } : undefined
    case 'succeeded':
      return capturedStanding(intent)
    case 'canceled':
      return { status: 'canceled' }
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

/** Without an error the intent was never confirmed, and then it is not one that we made. */
function refusedStanding({ last_payment_error: error }: Stripe.PaymentIntent) {
  if (error === null || error === undefined) return undefined
  const failure: Failure = {
    code: fitTextOrNothing(error.code) ?? fitTextOrNothing(error.type) ?? 'declined',
    declineCode: fitTextOrNothing(error.decline_code) ?? null,
    message: fitTextOrNothing(error.message) ?? '',
  }
  return { status: 'refused', failure } as const
}

/** A look that failed, in whatever way, has executed nothing. */
export function asLook(outcome: Outcome<Standing>): Done<Standing> | NotExecuted {
  if (outcome.outcome === 'done' || outcome.outcome === 'not_executed') return outcome
  const { asked, answered } = outcome
  const reason = outcome.outcome === 'unknown' ? outcome.reason : outcome.failure.message
  return { outcome: 'not_executed', reason, asked, answered }
}
