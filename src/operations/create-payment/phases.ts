// The operation `payment.create`: authorizes, then captures unless the client captures later.
//
// The table is the state machine. The functions below it are in the order in which they run.
import type { ResourceChange } from '../../db/operations/record-phases.ts'
import { reminderOf } from '../../domain/events/provider-event.ts'
import { entryOfCapture, type FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { Declined, FinalOutcome } from '../../domain/operations/outcome.ts'
import {
  paymentAfter,
  type Cancellation,
  type Failure,
  type Payment,
} from '../../domain/payments/payment.ts'
import type { CreateParameters, Fallback } from '../../domain/payments/routing.ts'
import type { ProviderStatus } from '../../domain/payments/provider-status.ts'
import {
  advanceTo,
  defineOperation,
  type OperationInput,
  type Step,
} from '../../engine/define-operation.ts'
import type { Authorization, Capture } from '../../provider/calls.ts'
import {
  onPayment,
  type PaymentSubject,
  finishWithPayment,
  finishWithRefusal,
} from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const createPayment = defineOperation('payment.create', {
  started:    { call: 'authorize', record: recordAuthorization, elsewhere: moveToFallback }, // -> moved (proved not executed) | authorized | finished (402, or 201 when held or to be authenticated)
  moved:      { call: 'authorize', record: recordAuthorization }, // -> authorized | finished (402, or 201 when held or to be authenticated)
  authorized: { call: 'capture',   record: recordCapture },       // -> captured | refused | finished (402)
  refused:    { call: 'cancel',    record: recordVoid },          // -> kept | finished (402)
  kept:       { call: 'retrieve',  record: recordNotReleased },          // -> captured | finished (402)
  captured:   {                    record: recordSuccess },       // -> finished (201)
}, onPayment({ startsFrom: ['requires_capture', 'failed'], subject }))

interface CreateSubject extends PaymentSubject {
  /** Where the payment goes if its provider is proved to have executed nothing. */
  readonly fallback?: Fallback | undefined
}

function subject({ payment, parameters }: OperationInput): CreateSubject {
  const { fallback } = parameters as CreateParameters
  return { payment, fallback }
}

/** Returns undefined if the client or the tenant allows no other provider. */
function moveToFallback({
  payment,
  fallback,
}: CreateSubject): Step<'moved', CreateSubject> | undefined {
  if (fallback === undefined) return undefined
  const { provider, payment_method: paymentMethod } = fallback
  const moved = paymentAfter(payment, { status: 'processing', provider, paymentMethod })
  return advanceTo('moved', { payment: moved }, { payment: moved })
}

function recordAuthorization(
  { payment }: PaymentSubject,
  outcome: FinalOutcome<Authorization>,
): Step<'authorized', CreateSubject> {
  if (outcome.outcome === 'declined') return recordDecline(payment, outcome)
  const { status, ...found } = outcome.value
  if (status === 'held' && payment.captureMethod === 'automatic') {
    const authorized = paymentAfter(payment, { status: 'processing', ...found })
    return advanceTo('authorized', { payment: authorized }, { payment: authorized })
  }
  const next = status === 'held' ? 'requires_capture' : 'requires_action'
  const waiting = paymentAfter(payment, { status: next, ...found })
  // The provider sends an event when the cardholder has acted. The reminder replaces a lost event.
  const reminder = reminderOf(waiting, waiting.createdAt)
  const again = next === 'requires_action' ? { reminder } : {}
  return finishWithPayment(201, waiting, { payment: waiting, ...again })
}

/** A refused capture leaves the money held, unless the payment is canceled at the provider. */
export function recordCapture(
  { payment }: PaymentSubject,
  outcome: FinalOutcome<Capture>,
  fees: FeeSchedule,
): Step<'captured' | 'refused', PaymentSubject> {
  if (outcome.outcome === 'done') return recordCaptured(payment, outcome.value, fees)
  if (outcome.canceled !== undefined) return recordDecline(payment, outcome)
  const refused = paymentAfter(payment, { status: 'processing', failure: outcome.failure })
  return advanceTo('refused', { payment: refused }, { payment: refused })
}

/** The hold of a refused capture is released. */
export function recordVoid(
  { payment }: PaymentSubject,
  outcome: FinalOutcome<Cancellation>,
): Step<'kept', PaymentSubject> {
  // The provider does not cancel what is captured.
  if (outcome.outcome === 'declined') return advanceTo('kept', { payment }, {})
  return recordDecline(payment, { failure: refusalOf(payment) })
}

/** Records what became of a hold that the provider refused both to capture and to release. */
export function recordNotReleased(
  { payment }: PaymentSubject,
  outcome: FinalOutcome<ProviderStatus>,
  fees: FeeSchedule,
): Step<'captured', PaymentSubject> {
  if (outcome.outcome === 'declined') throw new Error('the provider declined a read')
  const providerStatus = outcome.value
  if (providerStatus.status === 'captured') return recordCaptured(payment, providerStatus, fees)
  const failure = refusalOf(payment)
  const isOver = providerStatus.status === 'canceled' || providerStatus.status === 'refused'
  if (isOver) return recordDecline(payment, { failure })
  const { captureBefore } = providerStatus.status === 'held' ? providerStatus : payment
  const held = paymentAfter(payment, { status: 'requires_capture', captureBefore })
  return finishWithRefusal(held, failure, { payment: held })
}

export function recordCaptured(
  payment: Payment,
  { amountCapturedMinor }: Capture,
  fees: FeeSchedule,
): Step<'captured', PaymentSubject> {
  const captured = paymentAfter(payment, { status: 'processing', amountCapturedMinor })
  const ledger = [entryOfCapture(captured, fees)]
  return advanceTo('captured', { payment: captured }, { payment: captured, ledger })
}

export function recordSuccess({ payment }: PaymentSubject): Step<never, never, ResourceChange> {
  const succeeded = paymentAfter(payment, { status: 'succeeded' })
  return finishWithPayment(201, succeeded, { payment: succeeded })
}

function recordDecline(
  payment: Payment,
  { failure, providerPaymentId = null }: Pick<Declined, 'failure'> & Partial<Declined>,
): Step<never, never> {
  const declined = paymentAfter(payment, { status: 'declined', failure, providerPaymentId })
  return finishWithRefusal(declined, failure, { payment: declined })
}

/** Why the capture was refused. */
function refusalOf({ id, failure }: Payment): Failure {
  if (failure === null) throw new Error(`no capture of payment ${id} was refused`)
  return failure
}
