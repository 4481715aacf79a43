// The operation `payment.adjust`: changes the amount of an authorization before it is captured. A
// decline does not change the payment.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { paymentAfter, type Payment } from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import { onPayment } from '../on-payment.ts'
import { finishWithPayment, finishWithRefusal } from '../payment-answers.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record, then advance
export const adjustPayment = defineOperation('payment.adjust', {
  started:    { call: 'adjust',    record: recordAdjustment },    // -> finished (200, or 402)
}, onPayment({ startsFrom: ['requires_capture'], subject }))

interface Subject {
  readonly payment: Payment
  readonly amountMinor: number
}

function subject({ payment, parameters }: OperationInput): Subject {
  const { amount_minor: amountMinor } = parameters as { amount_minor: number }
  return { payment, amountMinor }
}

function recordAdjustment(
  { payment, amountMinor }: Subject,
  outcome: FinalOutcome<null>,
): Step<never, never> {
  if (outcome.outcome === 'declined') {
    const unchanged = paymentAfter(payment, { status: 'requires_capture' })
    return finishWithRefusal(unchanged, outcome.failure, { payment: unchanged })
  }
  const adjusted = paymentAfter(payment, { status: 'requires_capture', amountMinor })
  return finishWithPayment(200, adjusted, { payment: adjusted })
}
