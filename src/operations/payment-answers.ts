// The final responses of operations on a payment.
import type { Writes } from '../db/operations/phase-records.ts'
import {
  paymentPath,
  presentPayment,
  type Failure,
  type Payment,
} from '../domain/payments/payment.ts'
import { resourceResponse, type Refusal } from '../domain/operations/stored-response.ts'
import { finish, type Step } from '../engine/define-operation.ts'

/** Finishes with the payment as it is after the writes. */
export function finishWithPayment<const Written extends Writes>(
  status: 200 | 201,
  payment: Payment,
  writes: Written,
): Step<never, never, Written> {
  return finish(resourceResponse(status, paymentPath(payment.id), presentPayment(payment)), writes)
}

/** Finishes with the provider's refusal, and the payment as it is after the writes. */
export function finishWithRefusal(
  payment: Payment,
  failure: Failure,
  writes: Writes,
): Step<never, never> {
  return finish(refusal(payment, failure), writes)
}

function refusal(payment: Payment, failure: Failure): Refusal {
  const extensions = { payment: presentPayment(payment), error: stripeError(failure) }
  return { type: 'payment-declined', detail: failure.message, extensions }
}

/** A failure as a member of Stripe's `error`. */
export function stripeError(failure: Failure): Record<string, unknown> {
  return { code: failure.code, decline_code: failure.declineCode, message: failure.message }
}
