// The operation `payment.create`: authorize, then capture unless the client captures by itself. The
// table is the state machine; the functions below it stand in the order in which they run.
import type { Transaction } from '../db/client.ts'
import { postToLedger } from '../db/ledger.ts'
import { changePayment, occupyAgain, resumePayment } from '../db/payments.ts'
import { storeProviderEvent } from '../db/provider-events.ts'
import { REMINDERS_QUEUE } from '../db/queues.ts'
import { postingsOfCapture } from '../domain/ledger.ts'
import type { Declined, Outcome, Settled } from '../domain/outcome.ts'
import type { Payment } from '../domain/payment.ts'
import { reminderOf } from '../domain/provider-event.ts'
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

export async function recordAuthorization(
  recording: Recording,
  payment: Payment,
  settled: Settled<Authorization>,
): Promise<Step<'authorized', Payment>> {
  if (settled.outcome === 'declined') return await recordDecline(recording, payment, settled)
  const { tx, key } = recording
  const { status, ...found } = settled.value
  if (status === 'held' && payment.captureMethod === 'automatic') {
    const authorized = await changePayment(tx, payment, { status: 'processing', ...found }, key)
    return advanceTo('authorized', authorized)
  }
  const next = status === 'held' ? 'requires_capture' : 'requires_action'
  const waiting = await changePayment(tx, payment, { status: next, ...found }, key)
  if (next === 'requires_action') await remindToLook(tx, waiting)
  return finishWithPayment(201, waiting)
}

/** The provider sends an event when the holder has acted; a reminder stands in for one that is lost. */
async function remindToLook(tx: Transaction, payment: Payment): Promise<void> {
  await storeProviderEvent(tx, reminderOf(payment, payment.createdAt), REMINDERS_QUEUE)
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

export async function recordCapture(
  recording: Recording,
  payment: Payment,
  settled: Settled<Capture>,
): Promise<Step<'captured', Payment>> {
  if (settled.outcome === 'declined') return await recordDecline(recording, payment, settled)
  const { tx, key, fees, operationId } = recording
  const { amountCapturedMinor } = settled.value
  const change = { status: 'processing', amountCapturedMinor } as const
  const captured = await changePayment(tx, payment, change, key)
  const postings = postingsOfCapture(amountCapturedMinor, fees)
  await postToLedger(tx, { kind: 'capture', payment, operationId }, postings)
  return advanceTo('captured', captured)
}

export async function recordSuccess(
  { tx, key }: Recording,
  payment: Payment,
): Promise<Step<never, never>> {
  return finishWithPayment(201, await changePayment(tx, payment, { status: 'succeeded' }, key))
}

async function recordDecline(
  { tx, key }: Recording,
  payment: Payment,
  { failure, providerPaymentId }: Declined,
): Promise<Step<never, never>> {
  const change = { status: 'declined', failure, providerPaymentId } as const
  return finishWithRefusal(await changePayment(tx, payment, change, key), failure)
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
