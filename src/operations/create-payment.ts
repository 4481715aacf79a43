// The operation `payment.create`: authorize, then capture unless the client captures by itself. The
// table is the state machine; the functions below it stand in the order in which they run.
import type { Transaction } from '../db/client.ts'
import { changePaymentIfIn } from '../db/payments.ts'
import type { Outcome, Settled } from '../domain/outcome.ts'
import { paymentPath, presentPayment, type Payment } from '../domain/payment.ts'
import { problemResponse, resourceResponse } from '../domain/stored-response.ts'
import type {
  Authorization,
  CallIdentity,
  Capture,
  PaymentProvider,
} from '../provider/payment-provider.ts'
import { advanceTo, defineOperation, finish, type Step } from './define-operation.ts'

// prettier-ignore
// recovery point   foreign call (no transaction)   its transaction: record, then advance
export const createPayment = defineOperation('payment.create', {
  started:    { call: authorize, record: recordAuthorization }, // -> authorized | finished (402, or 201 when manual)
  authorized: { call: capture,   record: recordCapture },       // -> captured | finished (402)
  captured:   {                  record: recordSuccess },       // -> finished (201)
}, { unknown: showUnknown, failed: showFailed, reopened: showProcessing })

function authorize(
  provider: PaymentProvider,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<Authorization>> {
  return provider.authorize(payment, identity)
}

async function recordAuthorization(
  tx: Transaction,
  payment: Payment,
  settled: Settled<Authorization>,
): Promise<Step<'authorized'>> {
  if (settled.outcome === 'declined') return await recordDecline(tx, payment, settled)
  const { providerPaymentId } = settled.value
  if (payment.captureMethod === 'manual') {
    const held = await changePaymentIfIn(tx, payment, ['processing'], {
      status: 'requires_capture',
      providerPaymentId,
    })
    return finishWithPayment(held)
  }
  const authorized = await changePaymentIfIn(tx, payment, ['processing'], {
    status: 'processing',
    providerPaymentId,
  })
  return advanceTo('authorized', authorized)
}

function capture(
  provider: PaymentProvider,
  payment: Payment,
  identity: CallIdentity,
): Promise<Outcome<Capture>> {
  return provider.capture(payment, identity)
}

async function recordCapture(
  tx: Transaction,
  payment: Payment,
  settled: Settled<Capture>,
): Promise<Step<'captured'>> {
  if (settled.outcome === 'declined') return await recordDecline(tx, payment, settled)
  const { amountCapturedMinor } = settled.value
  const captured = await changePaymentIfIn(tx, payment, ['processing'], {
    status: 'processing',
    amountCapturedMinor,
  })
  return advanceTo('captured', captured)
}

async function recordSuccess(tx: Transaction, payment: Payment): Promise<Step<never>> {
  const succeeded = await changePaymentIfIn(tx, payment, ['processing'], { status: 'succeeded' })
  return finishWithPayment(succeeded)
}

async function recordDecline(
  tx: Transaction,
  payment: Payment,
  { failure, providerPaymentId }: Extract<Settled<unknown>, { outcome: 'declined' }>,
): Promise<Step<never>> {
  const declined = await changePaymentIfIn(tx, payment, ['processing'], {
    status: 'declined',
    failure,
    providerPaymentId,
  })
  const error = { code: failure.code, decline_code: failure.declineCode, message: failure.message }
  return finish(
    problemResponse('payment-declined', failure.message, {
      payment: presentPayment(declined),
      error,
    }),
  )
}

function finishWithPayment(payment: Payment): Step<never> {
  return finish(resourceResponse(201, paymentPath(payment.id), presentPayment(payment)))
}

async function showUnknown(tx: Transaction, payment: Payment): Promise<void> {
  await changePaymentIfIn(tx, payment, ['processing'], { status: 'unknown' })
}

async function showFailed(tx: Transaction, payment: Payment): Promise<void> {
  await changePaymentIfIn(tx, payment, ['processing'], { status: 'failed' })
}

async function showProcessing(tx: Transaction, payment: Payment): Promise<void> {
  await changePaymentIfIn(tx, payment, ['failed'], { status: 'processing' })
}
