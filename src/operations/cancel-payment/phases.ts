// The operation `payment.cancel`: ends a payment that is not captured, and releases its held money.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { waitingStatusBefore, waitingStatuses } from '../../domain/payments/payment-status.ts'
import {
  paymentAfter,
  type Cancellation,
  type CancelReason,
  type Payment,
} from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import { onPayment } from '../on-payment.ts'
import { finishWithPayment, finishWithRefusal } from '../payment-answers.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record, then advance
export const cancelPayment = defineOperation('payment.cancel', {
  started:    { call: 'cancel',    record: recordCancel },        // -> finished (200, or 402)
}, onPayment({ startsFrom: waitingStatuses, subject }))

interface Subject {
  readonly payment: Payment
  readonly reason: CancelReason | null
}

function subject({ payment, parameters }: OperationInput): Subject {
  const { reason } = parameters as { reason: CancelReason | null }
  return { payment, reason }
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
