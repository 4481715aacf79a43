// The operation `payment.follow`: takes over what has become of a payment at the provider without us,
// above all that the holder of the card has authenticated. What it records is what it has looked up.
import { changePayment, occupyAgain, resumePayment } from '../db/payments.ts'
import type { FeeSchedule } from '../domain/ledger/ledger.ts'
import type { Outcome, Settled } from '../domain/operations/outcome.ts'
import {
  isFinal,
  waitingStatusBefore,
  waitingStatuses,
  type PaymentStatus,
} from '../domain/payments/payment-status.ts'
import { paymentAfter, type Payment } from '../domain/payments/payment.ts'
import type {
  CallIdentity,
  PaymentProvider,
  Standing,
  Trace,
} from '../provider/payment-provider.ts'
import { capture, findCapture, recordCapture, recordSuccess } from './create-payment.ts'
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
export const followPayment = defineOperation('payment.follow', {
  started:    { call: look,      find: look,              record: recordStanding },      // -> authorized | captured | declined | finished (200)
  authorized: { call: capture,   find: findCapture,       record: recordCapture },       // -> captured | finished (402)
  captured:   {                                           record: recordSuccess },       // -> finished (201)
  declined:   { call: close,     find: findClosed,        record: recordClosed },        // -> finished (402)
}, { subject, unknown: showUnknown, resumed: showResumed, failed: showAsBefore, reopened: showProcessing })

/** Whether what was found at the provider takes a payment of such a status any further. */
export function hasMovedOn(payment: Payment, standing: Standing): boolean {
  return statusAfter(payment, standing, payment.status) !== payment.status
}

/** The status that what was found leads to. What is undecided never takes a payment back. */
function statusAfter(
  { captureMethod }: Payment,
  standing: Standing,
  before: PaymentStatus,
): PaymentStatus {
  switch (standing.status) {
    case 'undecided':
      return before
    case 'held':
      return captureMethod === 'automatic' ? 'processing' : 'requires_capture'
    case 'captured':
      return 'succeeded'
    case 'refused':
      return 'declined'
    case 'canceled':
      return 'canceled'
  }
}

function subject({ payment }: OperationInput): Payment {
  return payment
}

function look(provider: PaymentProvider, payment: Payment): Promise<Outcome<Standing>> {
  return provider.retrieve(payment)
}

function recordStanding(
  payment: Payment,
  settled: Settled<Standing>,
  fees: FeeSchedule,
): Step<'authorized' | 'captured' | 'declined', Payment> {
  if (settled.outcome === 'declined') throw new Error('the provider has declined a look')
  // Reopened after another operation had ended the payment: nothing is left to take over.
  if (isFinal(payment.status)) return finishWithPayment(200, payment, {})
  const standing = settled.value
  if (standing.status === 'captured') {
    return recordCapture(payment, { ...settled, value: standing }, fees)
  }
  const status = statusAfter(payment, standing, waitingStatusBefore(payment.previousStatus))
  const failure = standing.status === 'refused' ? { failure: standing.failure } : {}
  const found = paymentAfter(payment, { status, ...failure })
  if (status === 'processing') return advanceTo('authorized', found, { payment: found })
  if (status === 'declined') return advanceTo('declined', found, { payment: found })
  return finishWithPayment(200, found, { payment: found })
}

/** An intent whose payment was refused still takes another card: its holder must not pay it after all. */
function close(
  provider: PaymentProvider,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<null>> {
  return provider.cancel(payment, 'abandoned', identity)
}

function findClosed(
  provider: PaymentProvider,
  payment: Payment,
  trace: Trace,
): Promise<Outcome<null>> {
  return provider.findCancel(payment, trace)
}

function recordClosed(payment: Payment, _settled: Settled<null>): Step<never, never> {
  const { failure } = payment
  if (failure === null) throw new Error(`payment ${payment.id} was declined for no reason`)
  return finishWithRefusal(payment, failure, {})
}

async function showUnknown({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return isFinal(payment.status)
    ? payment
    : await changePayment(tx, payment, { status: 'unknown' }, key)
}

async function showResumed({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return payment.status === 'unknown' ? await resumePayment(tx, payment, key) : payment
}

async function showAsBefore({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  return isFinal(payment.status)
    ? payment
    : await changePayment(tx, payment, { status: waitingStatusBefore(payment.previousStatus) }, key)
}

async function showProcessing({ tx, key }: Recording, payment: Payment): Promise<Payment> {
  // Nothing but closing it at the provider can be left to do.
  if (payment.status === 'declined') return payment
  return await occupyAgain(tx, payment, waitingStatuses, key)
}

export function isFollowed(status: PaymentStatus): status is (typeof waitingStatuses)[number] {
  return (waitingStatuses as readonly PaymentStatus[]).includes(status)
}
