// The operation `payment.cancel`: gives up a payment that has not been captured, and lets go of the money
// that it holds.
import { changePayment, occupyAgain, resumePayment } from '../db/payments.ts'
import type { Outcome, Settled } from '../domain/operations/outcome.ts'
import { waitingStatusBefore, waitingStatuses } from '../domain/payments/payment-status.ts'
import { paymentAfter, type Payment } from '../domain/payments/payment.ts'
import type { CallIdentity, PaymentProvider, Trace } from '../provider/payment-provider.ts'
import {
  defineOperation,
  type OperationInput,
  type Recording,
  type Step,
} from './define-operation.ts'
import { finishWithPayment, finishWithRefusal } from './finish-operation.ts'

// prettier-ignore
// recovery point  foreign call  when its answer is lost  its transaction: record, then advance
export const cancelPayment = defineOperation('payment.cancel', {
  started:    { call: cancel,    find: findCancel,        record: recordCancel },        // -> finished (200, or 402)
}, { subject, unknown: showUnknown, resumed: showResumed, failed: showAsBefore, reopened: showProcessing })

/** Stripe's reasons: https://docs.stripe.com/api/payment_intents/cancel */
export const cancelReasons = [
  'duplicate',
  'fraudulent',
  'requested_by_customer',
  'abandoned',
] as const
export type CancelReason = (typeof cancelReasons)[number]

interface Subject {
  readonly payment: Payment
  readonly reason: CancelReason | null
}

function subject({ payment, parameters }: OperationInput): Subject {
  const { reason } = parameters as { reason: CancelReason | null }
  return { payment, reason }
}

function cancel(
  provider: PaymentProvider,
  { payment, reason }: Subject,
  identity: CallIdentity,
): Promise<Outcome<null>> {
  return provider.cancel(payment, reason, identity)
}

function findCancel(
  provider: PaymentProvider,
  { payment }: Subject,
  trace: Trace,
): Promise<Outcome<null>> {
  return provider.findCancel(payment, trace)
}

function recordCancel({ payment }: Subject, settled: Settled<null>): Step<never, never> {
  if (settled.outcome === 'done') {
    const canceled = paymentAfter(payment, { status: 'canceled' })
    return finishWithPayment(200, canceled, { payment: canceled })
  }
  const waiting = paymentAfter(payment, { status: waitingStatusBefore(payment.previousStatus) })
  return finishWithRefusal(waiting, settled.failure, { payment: waiting })
}

function showUnknown({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return changePayment(tx, payment, { status: 'unknown' }, key)
}

function showResumed({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return resumePayment(tx, payment, key)
}

/** The intent found the payment waiting for a capture or for its holder: it waits again. */
function showAsBefore({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  const status = waitingStatusBefore(payment.previousStatus)
  return changePayment(tx, payment, { status }, key)
}

function showProcessing({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return occupyAgain(tx, payment, waitingStatuses, key)
}
