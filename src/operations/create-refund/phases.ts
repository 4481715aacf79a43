// The operation `refund.create`: returns money of a captured payment to the customer. The intent
// reserves the amount, so that concurrent refunds never exceed the capture.
import { changeRefund } from '../../db/payments/refunds.ts'
import { entryOfRefund } from '../../domain/ledger/ledger.ts'
import type { FinalOutcome } from '../../domain/operations/outcome.ts'
import { resourceResponse } from '../../domain/operations/stored-response.ts'
import type { Payment } from '../../domain/payments/payment.ts'
import {
  presentRefund,
  refundAfter,
  refundPath,
  type Refund,
  type RefundStatus,
} from '../../domain/payments/refund.ts'
import {
  defineOperation,
  finish,
  type Marking,
  type OperationInput,
  type Step,
} from '../../engine/define-operation.ts'
import type { RefundAcceptance } from '../../provider/payment-provider.ts'
import { stripeError } from '../payment-answers.ts'

// prettier-ignore
// recovery point  provider call      its transaction: record, then advance
export const createRefund = defineOperation('refund.create', {
  started:    { call: 'refund',    record: recordRefund },        // -> finished (201, or 402)
}, { subject, markUnknown: mark('unknown'), markFailed: mark('failed'), markResumed: mark('processing'), markReopened: mark('processing') })

interface Subject {
  readonly payment: Payment
  readonly refund: Refund
}

function subject({ payment, refund }: OperationInput): Subject {
  if (refund === null) throw new Error(`a refund of payment ${payment.id} has no row`)
  return { payment, refund }
}

function recordRefund(
  { refund }: Subject,
  outcome: FinalOutcome<RefundAcceptance>,
): Step<never, never> {
  if (outcome.outcome === 'declined') {
    const { failure } = outcome
    const declined = refundAfter(refund, { status: 'declined', failure })
    const extensions = { refund: presentRefund(declined), error: stripeError(failure) }
    const refusal = { type: 'refund-declined', detail: failure.message, extensions } as const
    return finish(refusal, { refund: declined })
  }
  const { providerRefundId } = outcome.value
  const given = refundAfter(refund, { status: 'succeeded', providerRefundId })
  const answer = resourceResponse(201, refundPath(given.id), presentRefund(given))
  return finish(answer, { refund: given, ledger: entryOfRefund(given) })
}

function mark(status: RefundStatus) {
  return ({ tx, key }: Marking, { refund }: Subject): Promise<Refund> =>
    changeRefund(tx, refund, { status }, key)
}
