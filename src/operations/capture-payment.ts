// The operation `payment.capture`: takes all or a part of the money that an authorization holds; the
// provider releases the rest.
import { changePayment, occupyAgain, resumePayment } from '../db/payments.ts'
import { entryOfCapture, type FeeSchedule } from '../domain/ledger/ledger.ts'
import type { Outcome, Settled } from '../domain/operations/outcome.ts'
import { paymentAfter, type Payment } from '../domain/payments/payment.ts'
import type { CallIdentity, Capture, PaymentProvider, Trace } from '../provider/payment-provider.ts'
import {
  defineOperation,
  type OperationInput,
  type Recording,
  type Step,
} from './define-operation.ts'
import { finishWithPayment, finishWithRefusal } from './finish-operation.ts'

// prettier-ignore
// recovery point  foreign call  when its answer is lost  its transaction: record, then advance
export const capturePayment = defineOperation('payment.capture', {
  started:    { call: capture,   find: findCapture,       record: recordCapture },       // -> finished (200, or 402)
}, { subject, unknown: showUnknown, resumed: showResumed, failed: showHeld, reopened: showProcessing })

/** The statuses in which a payment can be captured. */
export const capturableStatuses = ['requires_capture'] as const

interface Subject {
  readonly payment: Payment
  readonly amountMinor: number
}

function subject({ payment, parameters }: OperationInput): Subject {
  const { amount_minor: amountMinor } = parameters as { amount_minor: number }
  return { payment, amountMinor }
}

function capture(
  provider: PaymentProvider,
  { payment, amountMinor }: Subject,
  identity: CallIdentity,
): Promise<Outcome<Capture>> {
  return provider.capture(payment, amountMinor, identity)
}

function findCapture(
  provider: PaymentProvider,
  { payment, amountMinor }: Subject,
  trace: Trace,
): Promise<Outcome<Capture>> {
  return provider.findCapture(payment, amountMinor, trace)
}

function recordCapture(
  { payment }: Subject,
  settled: Settled<Capture>,
  fees: FeeSchedule,
): Step<never, never> {
  if (settled.outcome === 'declined') {
    const { failure } = settled
    // A refused capture says that the money is not held any more.
    const declined = paymentAfter(payment, { status: 'declined', failure })
    return finishWithRefusal(declined, failure, { payment: declined })
  }
  const { amountCapturedMinor } = settled.value
  const captured = paymentAfter(payment, { status: 'succeeded', amountCapturedMinor })
  const ledger = entryOfCapture(captured, fees)
  return finishWithPayment(200, captured, { payment: captured, ledger })
}

function showUnknown({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return changePayment(tx, payment, { status: 'unknown' }, key)
}

function showResumed({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return resumePayment(tx, payment, key)
}

function showHeld({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return changePayment(tx, payment, { status: 'requires_capture' }, key)
}

function showProcessing({ tx, key }: Recording, { payment }: Subject): Promise<Payment> {
  return occupyAgain(tx, payment, capturableStatuses, key)
}
