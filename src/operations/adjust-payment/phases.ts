// The operation `payment.adjust`: changes the amount of an authorization before it is captured. A
// decline does not change the payment.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { paymentAfter, type Hold, type Payment } from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import { onPayment, finishWithPayment, finishWithRefusedHold } from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
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
  outcome: FinalOutcome<Hold>,
): Step<never, never> {
  if (outcome.outcome === 'declined') return finishWithRefusedHold(payment, outcome)
  const { captureBefore } = outcome.value
  const adjusted = paymentAfter(payment, { status: 'requires_capture', amountMinor, captureBefore })
  return finishWithPayment(200, adjusted, { payment: adjusted })
}
