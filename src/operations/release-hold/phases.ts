// The operation `hold.release`: releases a hold that names a payment which does not use it and never
// will. The provider makes such a hold when it completes an authorization after the service has
// concluded that it did nothing: see docs/decisions/0032-provider-key-generations.md. An event of the
// provider or the reconciliation starts the operation. The payment stays as it is.
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import type { Cancellation } from '../../domain/payments/payment.ts'
import { defineOperation, type OperationInput, type Step } from '../../engine/define-operation.ts'
import {
  keepsStatus,
  type PaymentSubject,
  finishWithPayment,
  finishWithRefusal,
} from '../on-payment.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record and advance
export const releaseHold = defineOperation('hold.release', {
  started:    { call: 'cancel',    record: recordRelease },       // -> finished (200, or 402)
}, { subject, ...keepsStatus })

export interface ReleaseParameters {
  /** The provider's id of the hold. */
  readonly providerPaymentId: string
  /** Of the hold: the payment may have moved to another one. */
  readonly provider: string
  /** Its amount. The payment may have another one since, by `payment.adjust`. */
  readonly amountMinor: number
}

/** The payment as the provider knows it by its second hold. */
function subject({ payment, parameters }: OperationInput): PaymentSubject {
  const { providerPaymentId, amountMinor, provider } = parameters as unknown as ReleaseParameters
  return { payment: { ...payment, provider, providerPaymentId, amountMinor } }
}

/** If the provider refuses, the hold is still there, and the reconciliation reports it. */
function recordRelease(
  { payment }: PaymentSubject,
  outcome: FinalOutcome<Cancellation>,
): Step<never, never> {
  return outcome.outcome === 'done'
    ? finishWithPayment(200, payment, {})
    : finishWithRefusal(payment, outcome.failure, {})
}
