// The final responses of operations on a payment.
import type { Writes } from '../db/operations/record-phases.ts'
import type { Declined } from '../domain/operations/outcome.ts'
import {
  hasExpired,
  paymentAfter,
  paymentPath,
  presentFailure,
  presentPayment,
  type Failure,
  type Payment,
  failureTypeOf,
} from '../domain/payments/payment.ts'
import {
  resourceResponse,
  type Refusal,
  type StoredProblem,
} from '../domain/operations/stored-response.ts'
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
  return finish(refusal(payment, failure, 'payment-declined'), writes)
}

/**
 * Finishes with the refusal of a capture or an adjustment. Unless the payment is canceled, its money
 * is still held: the client can try another amount, or cancel.
 */
export function finishWithRefusedHold(
  payment: Payment,
  { failure, canceled }: Declined,
): Step<never, never> {
  const after = paymentAfter(
    payment,
    canceled === undefined
      ? { status: 'requires_capture' }
      : { status: 'canceled', cancellationReason: canceled.reason },
  )
  const type = hasExpired(after) ? 'authorization-expired' : 'payment-declined'
  return finish(refusal(after, failure, type), { payment: after })
}

function refusal(payment: Payment, failure: Failure, type: StoredProblem): Refusal {
  const error = { ...presentFailure(failure), type: failureTypeOf(failure) }
  const extensions = { payment: presentPayment(payment), error }
  return { type, detail: failure.message, extensions }
}
