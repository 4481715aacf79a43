// The operation `payment.create`: authorize, then capture unless the client captures by itself. The
// table is the state machine; the functions below it stand in the order in which they run.
import { changePayment, occupyAgain, resumePayment } from '../db/payments.ts'
import type { ResourceChange } from '../db/phase-records.ts'
import { entryOfCapture, type FeeSchedule } from '../domain/ledger/ledger.ts'
import type { Declined, Outcome, Settled } from '../domain/operations/outcome.ts'
import { paymentAfter, type Payment } from '../domain/payments/payment.ts'
import { reminderOf } from '../domain/events/provider-event.ts'
import type {
  Authorization,
  CallIdentity,
  Capture,
  PaymentProvider,
  Trace,
} from '../provider/payment-provider.ts'
import {
  advanceTo,
  defineOperation,
  type OperationInput,
  type Recording,
  type Step,
} from './define-operation.ts'
import { finishWithPayment, finishWithRefusal } from './finish-operation.ts'

// prettier-ignore
// recovery point  foreign call  when its answer is lost  its transaction: record, then advance
export const createPayment = defineOperation('payment.create', {
  started:    { call: authorize, find: findAuthorization, record: recordAuthorization }, // -> authorized | finished (402, or 201 when held or to be authenticated)
  authorized: { call: capture,   find: findCapture,       record: recordCapture },       // -> captured | finished (402)
  captured:   {                                           record: recordSuccess },       // -> finished (201)
}, { subject, unknown: showUnknown, resumed: showResumed, failed: showFailed, reopened: showProcessing })

function subject({ payment }: OperationInput): Payment {
  return payment
}

function authorize(
  provider: PaymentProvider,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<Authorization>> {
  return provider.authorize(payment, identity)
}

function findAuthorization(
  provider: PaymentProvider,
  payment: Payment,
  trace: Trace,
): Promise<Outcome<Authorization>> {
  return provider.findAuthorization(payment, trace)
}

export function recordAuthorization(
  payment: Payment,
  settled: Settled<Authorization>,
): Step<'authorized', Payment> {
  if (settled.outcome === 'declined') return recordDecline(payment, settled)
  const { status, ...found } = settled.value
  if (status === 'held' && payment.captureMethod === 'automatic') {
    const authorized = paymentAfter(payment, { status: 'processing', ...found })
    return advanceTo('authorized', authorized, { payment: authorized })
  }
  const next = status === 'held' ? 'requires_capture' : 'requires_action'
  const waiting = paymentAfter(payment, { status: next, ...found })
  // The provider sends an event when the holder has acted; a reminder stands in for one that is lost.
  const reminder = reminderOf(waiting, waiting.createdAt)
  const again = next === 'requires_action' ? { reminder } : {}
  return finishWithPayment(201, waiting, { payment: waiting, ...again })
}

export function capture(
  provider: PaymentProvider,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<Capture>> {
  return provider.capture(payment, payment.amountMinor, identity)
}

export function findCapture(
  provider: PaymentProvider,
  payment: Payment,
  trace: Trace,
): Promise<Outcome<Capture>> {
  return provider.findCapture(payment, payment.amountMinor, trace)
}

export function recordCapture(
  payment: Payment,
  settled: Settled<Capture>,
  fees: FeeSchedule,
): Step<'captured', Payment> {
  if (settled.outcome === 'declined') return recordDecline(payment, settled)
  const { amountCapturedMinor } = settled.value
  const captured = paymentAfter(payment, { status: 'processing', amountCapturedMinor })
  return advanceTo('captured', captured, {
    payment: captured,
    ledger: entryOfCapture(captured, fees),
  })
}

export function recordSuccess(payment: Payment): Step<never, never, ResourceChange> {
  const succeeded = paymentAfter(payment, { status: 'succeeded' })
  return finishWithPayment(201, succeeded, { payment: succeeded })
}

function recordDecline(
  payment: Payment,
  { failure, providerPaymentId }: Declined,
): Step<never, never> {
  const declined = paymentAfter(payment, { status: 'declined', failure, providerPaymentId })
  return finishWithRefusal(declined, failure, { payment: declined })
}

function showUnknown({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return changePayment(tx, payment, { status: 'unknown' }, key)
}

function showResumed({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return resumePayment(tx, payment, key)
}

function showFailed({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return changePayment(tx, payment, { status: 'failed' }, key)
}

function showProcessing({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return occupyAgain(tx, payment, ['failed'], key)
}
