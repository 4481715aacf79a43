// The operation `payment.follow`: records a change of a payment that this service did not make, for
// example the authentication of the cardholder. An event of the provider starts the operation, but
// only what a lookup at the provider finds is recorded.
import type { FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import {
  isFinal,
  waitingStatusBefore,
  waitingStatuses,
  paymentAfter,
  type Cancellation,
  type PaymentChange,
} from '../../domain/payments/payment.ts'
import { statusAfter, type ProviderStatus } from '../../domain/payments/provider-status.ts'
import {
  advanceTo,
  defineOperation,
  type Mark,
  type OperationResource,
  type Step,
} from '../../engine/define-operation.ts'
import {
  recordCapture,
  recordCaptured,
  recordNotReleased,
  recordSuccess,
  recordVoid,
} from '../create-payment/phases.ts'
import {
  onPayment,
  type PaymentSubject,
  finishWithPayment,
  finishWithRefusal,
} from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const followPayment = defineOperation('payment.follow', {
  started:    { call: 'retrieve',  record: recordProviderStatus },      // -> authorized | captured | declined | finished (200)
  authorized: { call: 'capture',   record: recordCapture },       // -> captured | refused | finished (402)
  refused:    { call: 'cancel',    record: recordVoid },          // -> kept | finished (402)
  kept:       { call: 'retrieve',  record: recordNotReleased },          // -> captured | finished (402)
  captured:   {                    record: recordSuccess },       // -> finished (201)
  declined:   { call: 'cancel',    record: recordClosed },        // -> finished (402)
}, followed())

interface Subject extends PaymentSubject {
  /**
   * The same for each try of a cancel. A refused intent still accepts another card. It is canceled,
   * so that the cardholder cannot pay it later.
   */
  readonly reason?: 'abandoned'
}

function recordProviderStatus(
  { payment }: Subject,
  outcome: FinalOutcome<ProviderStatus>,
  fees: FeeSchedule,
): Step<'authorized' | 'captured' | 'declined', Subject> {
  if (outcome.outcome === 'declined') throw new Error('the provider declined a read')
  // Reopened after another operation ended the payment: nothing is left to record.
  if (isFinal(payment.status)) return finishWithPayment(200, payment, {})
  const providerStatus = outcome.value
  if (providerStatus.status === 'captured') return recordCaptured(payment, providerStatus, fees)
  const status = statusAfter(payment, providerStatus, waitingStatusBefore(payment.previousStatus))
  const found = paymentAfter(payment, { status, ...learntFrom(providerStatus) })
  if (status === 'processing')
    return advanceTo('authorized', { payment: found }, { payment: found })
  if (status === 'declined') {
    return advanceTo('declined', { payment: found, reason: 'abandoned' }, { payment: found })
  }
  return finishWithPayment(200, found, { payment: found })
}

function learntFrom(providerStatus: ProviderStatus): Omit<PaymentChange, 'status'> {
  switch (providerStatus.status) {
    case 'held':
      return { captureBefore: providerStatus.captureBefore }
    case 'refused':
      return { failure: providerStatus.failure }
    case 'canceled':
      return { cancellationReason: providerStatus.reason }
    case 'undecided':
    case 'captured':
      return {}
  }
}

function recordClosed(
  { payment }: Subject,
  _outcome: FinalOutcome<Cancellation>,
): Step<never, never> {
  const { failure } = payment
  if (failure === null) throw new Error(`payment ${payment.id} was declined for no reason`)
  return finishWithRefusal(payment, failure, {})
}

/** Does not mark a final payment: another operation may have ended it since the event arrived. */
function followed(): OperationResource<Subject> {
  const marks = onPayment<Subject>({
    startsFrom: waitingStatuses,
    subject: ({ payment }) =>
      payment.status === 'declined' ? { payment, reason: 'abandoned' } : { payment },
  })
  const unlessFinal =
    (mark: Mark<Subject>): Mark<Subject> =>
    async (marking, subject) => {
      if (!isFinal(subject.payment.status)) await mark(marking, subject)
    }
  return {
    ...marks,
    markUnknown: unlessFinal(marks.markUnknown),
    markGivenUp: unlessFinal(marks.markGivenUp),
    async markResumed(marking, subject) {
      if (subject.payment.status === 'unknown') await marks.markResumed(marking, subject)
    },
    async markReopened(marking, subject) {
      // For a declined payment, only the cancellation at the provider can remain.
      if (subject.payment.status !== 'declined') await marks.markReopened(marking, subject)
    },
  }
}
