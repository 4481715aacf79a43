// What all operations on a payment share: the marks of the payment when the engine cannot continue by
// itself, and the final responses.
import { changePayment, markProcessingAgain, resumePayment } from '../db/payments/payments.ts'
import {
  type OperationInput,
  type OperationResource,
  finish,
  type Step,
} from '../engine/define-operation.ts'
import {
  type StartStatus,
  withStatus,
  type Payment,
  type PaymentChange,
  hasExpired,
  paymentAfter,
  paymentPath,
  presentFailure,
  presentPayment,
  type Failure,
  failureTypeOf,
} from '../domain/payments/payment.ts'
import type { Writes } from '../db/operations/record-phases.ts'
import type { Declined } from '../domain/operations/outcome.ts'
import {
  resourceResponse,
  type Refusal,
  type StoredProblem,
} from '../domain/operations/stored-response.ts'

export interface PaymentSubject {
  readonly payment: Payment
}

interface OnPayment<Subject> {
  /**
   * The statuses in which the operation can start. When it gives up, the payment gets the status
   * that it had, or the first of these if it had none of them; `failed` only while the provider has
   * no record of it, because its money may be held afterwards. A final status does not compile: an
   * operation on such a payment leaves its status as it is, see "Change no status" in
   * docs/fork-this.md.
   */
  readonly startsFrom: readonly [StartStatus, ...StartStatus[]]
  readonly subject: (input: OperationInput) => Subject
}

export interface PaymentResource<Subject> extends OperationResource<Subject> {
  readonly startsFrom: OnPayment<Subject>['startsFrom']
}

/** The marks of an operation that works on a payment. */
export function onPayment<Subject extends PaymentSubject>({
  startsFrom,
  subject,
}: OnPayment<Subject>): PaymentResource<Subject> {
  return {
    startsFrom,
    subject,
    markUnknown: ({ tx, key }, { payment }) =>
      changePayment(tx, payment, withStatus(payment, 'unknown'), key),
    markGivenUp: ({ tx, key }, { payment }) =>
      changePayment(tx, payment, withStatus(payment, statusBefore(payment, startsFrom)), key),
    markCanceled: ({ tx, key }, { payment }) =>
      changePayment(tx, payment, canceledBeforeCall(payment, startsFrom), key),
    markResumed: ({ tx, key }, { payment }) => resumePayment(tx, payment, key),
    markReopened: ({ tx, key }, { payment }) => markProcessingAgain(tx, payment, startsFrom, key),
  }
}

/** The status of the payment when the operation gives up. */
function statusBefore(
  { previousStatus, providerPaymentId }: Payment,
  [usual, ...others]: OnPayment<unknown>['startsFrom'],
): StartStatus {
  if (providerPaymentId === null) return 'failed'
  return others.find((status) => status === previousStatus && status !== 'failed') ?? usual
}

/** A new payment is over; an older one gets back the status that it had. */
function canceledBeforeCall(
  payment: Payment,
  startsFrom: OnPayment<unknown>['startsFrom'],
): PaymentChange {
  return payment.providerPaymentId === null
    ? { status: 'canceled', cancellationReason: 'abandoned' }
    : withStatus(payment, statusBefore(payment, startsFrom))
}

/**
 * The marks of an operation that leaves the status of its resource as it is. It does not take its
 * payment, so it can start from each status: `paymentEndpoint` reads which from `startsFrom`.
 */
export const keepsStatus = {
  changesStatus: false,
  markUnknown: keep,
  markGivenUp: keep,
  markCanceled: keep,
  markResumed: keep,
  markReopened: keep,
} as const satisfies Partial<OperationResource<unknown>> & { changesStatus: false }

function keep(): Promise<void> {
  return Promise.resolve()
}

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
