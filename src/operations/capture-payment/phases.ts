// The operation `payment.capture`: captures all or a part of the authorized money. The provider
// releases the rest.
import { StaleResourceError } from '../../db/payments/payments.ts'
import { entryOfCapture, type FeeSchedule } from '../../domain/ledger/ledger.ts'
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { paymentAfter, type Payment } from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import type { Capture } from '../../provider/calls.ts'
import {
  onPayment,
  type PaymentResource,
  finishWithPayment,
  finishWithRefusedHold,
} from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const capturePayment = defineOperation('payment.capture', {
  started:    { call: 'capture',   record: recordCapture },       // -> finished (200, or 402)
}, ofUnchangedAmount(onPayment({ startsFrom: ['requires_capture'], subject })))

interface Subject {
  readonly payment: Payment
  readonly amountMinor: number
  /** The payment's amount at the time of the request. */
  readonly authorizedMinor: number
}

function subject({ payment, parameters }: OperationInput): Subject {
  const { amount_minor: amountMinor, authorized_minor: authorizedMinor } = parameters as {
    amount_minor: number
    authorized_minor: number
  }
  return { payment, amountMinor, authorizedMinor }
}

/**
 * Refuses to reopen a capture after `payment.adjust` changed the amount: the client decided how
 * much to capture from another total.
 */
function ofUnchangedAmount(resource: PaymentResource<Subject>): PaymentResource<Subject> {
  return {
    ...resource,
    async markReopened(marking, retried) {
      const { payment, authorizedMinor } = retried
      if (payment.amountMinor !== authorizedMinor) {
        throw new StaleResourceError(`payment ${payment.id}`, `of ${authorizedMinor}`)
      }
      await resource.markReopened(marking, retried)
    },
  }
}

function recordCapture(
  { payment }: Subject,
  outcome: FinalOutcome<Capture>,
  fees: FeeSchedule,
): Step<never, never> {
  if (outcome.outcome === 'declined') return finishWithRefusedHold(payment, outcome)
  const { amountCapturedMinor } = outcome.value
  const captured = paymentAfter(payment, { status: 'succeeded', amountCapturedMinor })
  const ledger = [entryOfCapture(captured, fees)]
  return finishWithPayment(200, captured, { payment: captured, ledger })
}
