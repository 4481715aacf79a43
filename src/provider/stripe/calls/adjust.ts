// Changes the held amount of a payment before it is captured.
import type { Outcome } from '../../../domain/operations/outcome.ts'
import type { Hold, Payment } from '../../../domain/payments/payment.ts'
import {
  confirmed,
  explainNotShown,
  type CallDescription,
  providerPaymentIdOf,
  unknown,
} from '../../call-outcomes.ts'
import {
  cancellationOf,
  describeIntent,
  holdOf,
  type Intent,
  isAbout,
  MISMATCH,
  refusedIntent,
  WITH_CHARGE,
  providerStatusOf,
} from '../answers.ts'
import { classifyStripeError, declined, describeStripeError, UNEXPECTED_STATE } from '../errors.ts'
import { FOUND_MISMATCH, retrieveIntent, send, type StripeCall } from './call.ts'

/** @see https://docs.stripe.com/api/payment_intents/increment_authorization */
export const adjust: StripeCall<'adjust'> = {
  writes: 'payment_intents',
  async execute(connection, { payment, amountMinor }, identity) {
    const id = providerPaymentIdOf(payment)
    const about = { payment_id: id, amount: amountMinor }
    const { paymentIntents } = connection.stripe
    return await send(connection, identity, ADJUST, about, async (asked, options) => {
      const parameters = { amount: amountMinor, ...WITH_CHARGE }
      try {
        const intent = await paymentIntents.incrementAuthorization(id, parameters, options)
        return confirm(payment, amountMinor, intent, asked)
      } catch (error) {
        return explainRefusal(payment, error, asked)
      }
    })
  },
  /** It has happened if the new amount is held, and has not if the previous one is. */
  async find(connection, { payment, amountMinor }) {
    return await retrieveIntent(connection, payment, (intent, asked, answered) => {
      const adjusted = confirm(payment, amountMinor, intent, asked)
      if (adjusted.outcome === 'done') return adjusted
      const isIt = isAbout(payment, intent) && intent.id === payment.providerPaymentId
      const providerStatus = isIt ? providerStatusOf(intent) : undefined
      return explainNotShown(payment, providerStatus, asked, answered, {
        held: 'the amount is as it was',
        canceled: {
          code: UNEXPECTED_STATE,
          declineCode: null,
          message: 'The payment was canceled at the provider, and cannot be adjusted.',
        },
        other: FOUND_MISMATCH,
      })
    })
  },
}

const ADJUST = 'payment_intents.increment_authorization'

/** Stripe answers with the intent as it is now: the new amount is held. */
function confirm(
  payment: Payment,
  amountMinor: number,
  intent: Intent,
  asked: CallDescription,
): Outcome<Hold> {
  const answered = describeIntent(intent)
  const isHeld =
    isAbout({ ...payment, amountMinor }, intent) &&
    intent.id === payment.providerPaymentId &&
    intent.status === 'requires_capture' &&
    intent.amount_capturable === amountMinor
  return confirmed(isHeld ? holdOf(intent) : undefined, asked, answered, MISMATCH)
}

/** An intent that was canceled or captured meanwhile holds nothing that could be adjusted. */
function explainRefusal(payment: Payment, error: unknown, asked: CallDescription): Outcome<Hold> {
  const refused = refusedIntent(error)
  if (refused === undefined) return classifyStripeError(error, asked)
  const { intent } = refused
  const answered = describeStripeError(refused.error)
  if (intent.id !== payment.providerPaymentId) return unknown(asked, answered, MISMATCH)
  const refusal = declined(refused.error, asked, answered)
  if (intent.status === 'canceled') return { ...refusal, canceled: cancellationOf(intent) }
  return intent.status === 'succeeded' ? refusal : unknown(asked, answered, MISMATCH)
}
