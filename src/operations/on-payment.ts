// Marks the payment of an operation when the engine cannot continue by itself. All operations on a
// payment share these functions.
import { changePayment, markProcessingAgain, resumePayment } from '../db/payments/payments.ts'
import type { OperationInput, OperationResource } from '../engine/define-operation.ts'
import {
  type StartStatus,
  withStatus,
  type Payment,
  type PaymentChange,
} from '../domain/payments/payment.ts'

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
