// The operation `payment.capture`: takes all or a part of the money that an authorization holds; the
// provider releases the rest.
import { entryOfCapture, type FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { paymentAfter, type Payment } from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import type { Capture } from '../../provider/payment-provider.ts'
import { onPayment } from '../on-payment.ts'
import { finishWithPayment, finishWithRefusal } from '../payment-answers.ts'

/** The statuses in which a payment can be captured. */
export const capturableStatuses = ['requires_capture'] as const

// prettier-ignore
// recovery point  provider call      its transaction: record, then advance
export const capturePayment = defineOperation('payment.capture', {
  started:    { call: 'capture',   record: recordCapture },       // -> finished (200, or 402)
}, onPayment({ startsFrom: capturableStatuses, subject }))

interface Subject {
  readonly payment: Payment
  readonly amountMinor: number
}

function subject({ payment, parameters }: OperationInput): Subject {
  const { amount_minor: amountMinor } = parameters as { amount_minor: number }
  return { payment, amountMinor }
}

function recordCapture(
  { payment }: Subject,
  settled: FinalOutcome<Capture>,
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
