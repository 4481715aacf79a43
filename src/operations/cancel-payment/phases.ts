// The operation `payment.cancel`: ends a payment that is not captured, and releases its held money.
import { StaleResourceError } from '../../db/payments/payments.ts'
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import {
  waitingStatusBefore,
  waitingStatuses,
  type WaitingStatus,
  paymentAfter,
  type Cancellation,
  type CancelReason,
  type Payment,
} from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import {
  onPayment,
  type PaymentResource,
  finishWithPayment,
  finishWithRefusal,
} from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const cancelPayment = defineOperation('payment.cancel', {
  started:    { call: 'cancel',    record: recordCancel },        // -> finished (200, or 402)
}, ofSameStatus(onPayment({ startsFrom: waitingStatuses, subject })))

export interface CancelParameters {
  readonly reason: CancelReason | null
  /** The only status that it may end; absent when a client cancels. */
  readonly ends?: WaitingStatus
}

interface Subject extends CancelParameters {
  readonly payment: Payment
}

function subject({ payment, parameters }: OperationInput): Subject {
  return { payment, ...(parameters as unknown as CancelParameters) }
}

/** Refuses to reopen the cancellation of an expired action after the cardholder has acted. */
function ofSameStatus(resource: PaymentResource<Subject>): PaymentResource<Subject> {
  return {
    ...resource,
    async markReopened(marking, retried) {
      const { payment, ends = payment.status } = retried
      if (payment.status !== ends) throw new StaleResourceError(`payment ${payment.id}`, ends)
      await resource.markReopened(marking, retried)
    },
  }
}

function recordCancel(
  { payment }: Subject,
  outcome: FinalOutcome<Cancellation>,
): Step<never, never> {
  if (outcome.outcome === 'done') {
    const { reason: cancellationReason } = outcome.value
    const canceled = paymentAfter(payment, { status: 'canceled', cancellationReason })
    return finishWithPayment(200, canceled, { payment: canceled })
  }
  const waiting = paymentAfter(payment, { status: waitingStatusBefore(payment.previousStatus) })
  return finishWithRefusal(waiting, outcome.failure, { payment: waiting })
}
