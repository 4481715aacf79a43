// Ends a payment that is not captured, and releases what it holds.
import type Stripe from 'stripe'
import type { Outcome } from '../../../domain/operations/outcome.ts'
import type { Cancellation, Payment } from '../../../domain/payments/payment.ts'
import {
  confirmed,
  notExecuted,
  type CallDescription,
  providerPaymentIdOf,
  unknown,
} from '../../call-outcomes.ts'
import { cancellationOf, describeIntent, MISMATCH, refusedIntent } from '../answers.ts'
import { classifyStripeError, declined, describeStripeError, UNEXPECTED_STATE } from '../errors.ts'
import { declinedBy, lookAtIntent, send, statusOf, type StripeCall } from './call.ts'

export const cancel: StripeCall<'cancel'> = {
  writes: 'payment_intents',
  async execute(connection, { payment, reason = null }, identity) {
    const id = providerPaymentIdOf(payment)
    const { paymentIntents } = connection.stripe
    return await send(connection, identity, CANCEL, { payment_id: id }, async (asked, options) => {
      try {
        const parameters = reason === null ? {} : { cancellation_reason: reason }
        const intent = await paymentIntents.cancel(id, parameters, options)
        return confirm(payment, intent, describeIntent(intent), asked)
      } catch (error) {
        return explainRefusal(payment, error, asked)
      }
    })
  },
  async find(connection, { payment }) {
    return await lookAtIntent(connection, payment, (intent, asked, answered) => {
      const canceled = confirm(payment, intent, answered, asked)
      if (canceled.outcome === 'done') return canceled
      if (CANCELABLE.has(intent.status)) return notExecuted('it is not canceled', asked, answered)
      if (intent.status === 'succeeded') {
        return declinedBy(intent, PAYMENT_CAPTURED, asked, answered)
      }
      return unknown(asked, answered, `the payment is ${statusOf(intent)}`)
    })
  },
}

const CANCEL = 'payment_intents.cancel'

/** The statuses in which a payment of ours can still be canceled. */
const CANCELABLE = new Set(['requires_capture', 'requires_action', 'requires_payment_method'])

const PAYMENT_CAPTURED = {
  code: UNEXPECTED_STATE,
  declineCode: null,
  message: 'The payment was captured at the provider and cannot be canceled.',
}

function confirm(
  payment: Payment,
  intent: Stripe.PaymentIntent,
  answered: CallDescription,
  asked: CallDescription,
): Outcome<Cancellation> {
  const isCanceled = intent.status === 'canceled' && intent.id === payment.providerPaymentId
  return confirmed(isCanceled ? cancellationOf(intent) : undefined, asked, answered, MISMATCH)
}

/**
 * Stripe refuses to cancel a payment that is already canceled, which proves that the cancellation
 * is done. It also refuses to cancel a captured payment, which proves that the payment is not
 * canceled.
 */
function explainRefusal(
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
  return confirm(payment, refused.intent, answered, asked)
}
